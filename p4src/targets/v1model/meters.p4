// Bounds what each port may send to the controller, who sets the rates. A meter without rates lets all pass.

// Cell: port * 2, and 1 more for keepalives, which have a rate of their own.
#define PUNT_CELLS (MAX_PORTS * 2)
typedef bit<2> color_t;
const color_t RED = 2;

control MeterPunt(in port_id_t port, in bit<1> keepalive, out color_t color) {
    @id(0x14000001) meter(PUNT_CELLS, MeterType.packets) punt_meter;

    apply {
        punt_meter.execute_meter((bit<32>)(port ++ keepalive), color);
    }
}
