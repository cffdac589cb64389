# A line of nodes in ns-2: TCP flows over links with drop-tail queues.
#
#   ns line.tcl key value ...
#     links    list of {Mb/s ms packets}: link i joins nodes i and i+1
#     flows    list of {variant from to start window sink}
#     monitor  links whose drops are counted: counting costs time at every packet
#     until    seconds
#     sample   seconds between samples, 0: none (for timing)
#     out      file of samples: time flow cwnd ssthresh acked sent resent timeouts dropped

array set option $argv

# ns-2 takes the first slow-start threshold from window_ when an agent is made, so the class is set, not the agent.
# Packets are 1500 bytes with 54 of header: Ethernet, IPv4 and TCP, as in groupflow.
Agent/TCP set tcpip_base_hdr_size_ 54
Agent/TCP set packetSize_ 1446
Agent/TCPSink set packetSize_ 54
Agent/TCP set window_ 100000

array set agent {
    tahoe Agent/TCP  reno Agent/TCP/Reno  newreno Agent/TCP/Newreno  sack Agent/TCP/Sack1  vegas Agent/TCP/Vegas
}

set ns [new Simulator]
set nodes [list [$ns node]]
set monitors {}
set links 0
foreach link $option(links) {
    lassign $link rate delay limit
    lappend nodes [$ns node]
    set from [lindex $nodes end-1]
    set to [lindex $nodes end]
    $ns duplex-link $from $to ${rate}Mb ${delay}ms DropTail
    $ns queue-limit $from $to $limit
    $ns queue-limit $to $from $limit
    if {$option(sample) > 0 && $links in $option(monitor)} {
        lappend monitors [$ns monitor-queue $from $to ""]
    }
    incr links
}

foreach flow $option(flows) {
    lassign $flow variant from to start window sink
    Agent/TCP set window_ $window
    set tcp [new $agent($variant)]
    # Vegas does not add the header that the others do.
    $tcp set packetSize_ [expr {$variant eq "vegas" ? 1500 : 1446}]
    set receiver [new Agent/TCPSink$sink]
    $ns attach-agent [lindex $nodes $from] $tcp
    $ns attach-agent [lindex $nodes $to] $receiver
    $ns connect $tcp $receiver
    set source [new Application/FTP]
    $source attach-agent $tcp
    $ns at $start "$source start"
    lappend senders $tcp
}

proc sample {} {
    global ns senders monitors option out
    set dropped 0
    foreach monitor $monitors {
        incr dropped [$monitor set pdrops_]
    }
    set index 0
    foreach tcp $senders {
        puts $out [format "%.6f %d %.6f %d %d %d %d %d %d" [$ns now] $index [$tcp set cwnd_] [$tcp set ssthresh_] \
            [$tcp set ack_] [$tcp set ndatapack_] [$tcp set nrexmitpack_] [$tcp set nrexmit_] $dropped]
        incr index
    }
    $ns at [expr {[$ns now] + $option(sample)}] sample
}

if {$option(sample) > 0} {
    set out [open $option(out) w]
    $ns at $option(sample) sample
}
$ns at $option(until) {
    if {$option(sample) > 0} {
        close $out
    }
    exit 0
}
$ns run
