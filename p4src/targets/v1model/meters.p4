// The meters. Their rates are the controller's; a meter without rates lets everything pass.

// The cells of a port: requests, and keepalives, which have a rate of their own.
#define PUNT_CELLS (MAX_PORTS * 2)

// Messages to the controller. Cell: port * 2, and 1 more for keepalives.
control MeterPunt(in port_t port, in bool keepalive, out bool above) {
    @id(0x14000001) meter(PUNT_CELLS, MeterType.packets) punt_meter;

    apply {
        bit<32> cell = (bit<32>)port << 1;
        if (keepalive) {
            cell = cell + 1;
        }
        bit<2> colour;
        punt_meter.execute_meter(cell, colour);
        above = colour != 0;
    }
}
