// Bounds the messages of a port to the controller, who sets the rates. A meter without rates lets all pass.

// Cell: port * 2, and 1 more for keepalives, which have a rate of their own.
#define PUNT_CELLS (MAX_PORTS * 2)
const bit<2> RED = 2;

control MeterPunt(in port_id_t port, in bit<1> keepalive, out bool above) {
    @id(0x14000001) meter(PUNT_CELLS, MeterType.packets) punt_meter;

    apply {
        bit<2> color;
        punt_meter.execute_meter((bit<32>)(port ++ keepalive), color);
        above = color == RED;
    }
}
