"""The papers that `groupflow reproduce` runs in netsim: of each, what the others do not have."""
