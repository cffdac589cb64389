// Bounds the messages of a port to the controller: each cell of one register is a token bucket, read and
// written once. A cell holds the time at which its bucket will be full again. A time further ahead than an
// empty bucket takes to fill is an old one, of a clock that has wrapped since.

// Cell: port * 2, and 1 more for keepalives, which have a rate of their own.
#define PUNT_CELLS (MAX_PORTS * 2)

control MeterPunt(in bit<32> now, in port_t port, in bool keepalive, out bool above) {
    @id(0x1600000c) register<bit<32>>(PUNT_CELLS) punt_full_at;

    apply {
        bit<32> cell = (bit<32>)port << 1;
        bit<32> interval = REQUEST_INTERVAL;
        bit<32> empty = REQUEST_BURST * REQUEST_INTERVAL;
        if (keepalive) {
            cell = cell + 1;
            interval = KEEPALIVE_INTERVAL;
            empty = KEEPALIVE_BURST * KEEPALIVE_INTERVAL;
        }
        bit<32> full_at;
        punt_full_at.read(full_at, cell);
        bit<32> fill = full_at - now;
        if (fill > empty) {
            fill = 0;
        }
        fill = fill + interval;
        above = fill > empty;
        if (!above) {
            full_at = now + fill;
        }
        punt_full_at.write(cell, full_at);
    }
}
