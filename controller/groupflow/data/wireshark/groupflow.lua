-- groupflow's group header (docs/reference/protocol.md), on UDP port 26470, for Wireshark and tshark.

local PORT = 26470
local VERSION = 1
local TYPES = {
  [1] = "DATA", [2] = "REPAIR", [3] = "ACK", [4] = "NACK", [5] = "SYNC", [6] = "JOIN", [7] = "LEAVE",
  [8] = "KEEPALIVE", [9] = "REPLY", [10] = "RESET", [11] = "QUERY", [12] = "REPORT",
}

-- The fields of group_header_t in their order: name, bits, how Wireshark writes it, names of values.
local HEADER = {
  { "version", 8, base.DEC },
  { "type", 8, base.DEC, TYPES },
  { "flags", 8, base.HEX },
  { "poll", 8, base.DEC },
  { "session", 32, base.DEC },
  { "source", 16, base.DEC },
  { "member", 16, base.DEC },
  { "seq", 32, base.DEC },
  { "stamp", 32, base.DEC },
  { "length", 16, base.DEC },
  { "checksum", 16, base.HEX },
}

local group = Proto("groupflow", "groupflow group header")
local fields, bytes = {}, 0
for place, field in ipairs(HEADER) do
  local name, bits, form, values = table.unpack(field, 1, 4)
  fields[place] = ProtoField["uint" .. bits]("groupflow." .. name, name, form, values)
  bytes = bytes + bits / 8
end
group.fields = fields
bytes = math.floor(bytes)

function group.dissector(buffer, packet, tree)
  if buffer:len() < bytes or buffer(0, 1):uint() ~= VERSION then
    return 0
  end
  local branch, at, found = tree:add(group, buffer(0, bytes)), 0, {}
  for place, field in ipairs(HEADER) do
    local part = buffer(at, field[2] / 8)
    branch:add(fields[place], part)
    found[field[1]] = part:uint()
    at = at + field[2] / 8
  end
  packet.cols.protocol = "groupflow"
  packet.cols.info = string.format(
    "%s session %d source %d member %d seq %d", TYPES[found.type] or "type " .. found.type, found.session,
    found.source, found.member, found.seq)
  if buffer:len() > bytes then
    Dissector.get("data"):call(buffer(bytes):tvb(), packet, tree)
  end
  return buffer:len()
end

DissectorTable.get("udp.port"):add(PORT, group)
