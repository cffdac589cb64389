# pyright: reportUnusedImport=false
"""The same P4 behaves alike on gfswitch and on BMv2: every test here is one of tests/unit/p4, on a process.

Left out: tests that read registers (simple_switch_grpc does not offer them), property tests that make a new
switch for each example, port counters (they count the markers of process_switch.py, too), and tests of meters
that tell the time.
"""

from __future__ import annotations

from tests.unit.p4.test_acks import (  # noqa: F401
    test_a_branch_that_leaves_stops_counting,
    test_a_poll_is_answered_once_even_without_progress,
    test_a_poll_tells_a_switch_that_was_started_again_what_was_sent,
    test_an_acknowledgement_of_nobodys_branch_is_dropped,
    test_an_acknowledgement_of_packets_that_were_not_sent_is_dropped,
    test_an_agent_without_upstream_is_dropped,
    test_only_the_last_branch_to_advance_lets_it_pass,
    test_only_the_senders_side_says_what_was_sent,
    test_the_agents_word_replaces_the_branches,
    test_the_same_minimum_is_not_sent_twice,
    test_what_goes_up_is_the_networks_and_keeps_the_stamp,
    test_without_active_branches_nothing_goes_up,
)
from tests.unit.p4.test_control import (  # noqa: F401
    test_a_host_cannot_play_the_controller,
    test_a_packet_out_leaves_as_it_is,
    test_a_packet_out_needs_its_fields,
    test_a_reset_of_an_unknown_stream_is_dropped,
    test_messages_of_hosts_reach_the_controller_with_their_port,
    test_nothing_else_of_a_host_does,
    test_the_controllers_reset_comes_back,
)
from tests.unit.p4.test_forwarding import (  # noqa: F401
    router,
    test_a_fragment_is_routed_by_its_address,
    test_a_frame_for_another_station_is_dropped,
    test_a_worn_out_packet_is_dropped,
    test_arp_is_answered_for_known_addresses,
    test_other_arp_is_dropped,
    test_the_longest_prefix_wins,
    test_unicast_is_routed,
    test_what_has_no_route_is_dropped,
)
from tests.unit.p4.test_guard import (  # noqa: F401
    guarded,
    test_a_host_injects_no_data_into_a_receiver,
    test_a_host_makes_no_probes,
    test_a_host_speaks_for_itself,
    test_a_host_speaks_for_no_other,
    test_a_port_of_which_nothing_is_known_is_open,
    test_a_rate_bounds_the_messages_of_a_port_until_it_is_taken_away,
    test_a_switch_passes_on_what_comes_from_anywhere,
    test_agents_and_switches_repair,
    test_an_agent_sends_from_the_addresses_of_its_sessions,
    test_large_datagrams_pass_in_fragments,
    test_no_fragment_lies_over_a_header_that_was_judged,
    test_no_group_header_hides_behind_other_ports,
    test_no_group_header_hides_in_fragments,
    test_other_datagrams_pass_as_they_are,
)
from tests.unit.p4.test_refusal import (  # noqa: F401
    refusing,
    test_a_fragment_is_dropped,
    test_a_header_that_contradicts_the_packet_is_malformed,
    test_a_reset_and_what_opens_no_connection_are_not_answered,
    test_a_segment_becomes_the_reset_that_it_demands,
    test_a_served_session_is_reached_as_any_host,
    test_checksums_of_random_segments_are_right,
    test_lengths_that_contradict_the_packet_change_no_reset,
    test_refusals_are_counted_by_port,
    test_the_padding_of_a_short_frame_is_no_data,
    test_what_is_not_tcp_is_dropped,
)
from tests.unit.p4.test_repair import (  # noqa: F401
    test_a_request_goes_to_the_cache_agent_with_its_asker,
    test_a_request_of_a_stranger_is_dropped,
    test_only_a_caches_words_go_from_host_to_host,
    test_what_the_agent_lacks_goes_on_to_the_sender,
    test_without_an_agent_requests_go_to_the_sender,
)
from tests.unit.p4.test_replication import (  # noqa: F401
    test_a_branch_that_left_gets_no_copy,
    test_a_host_gets_it_at_its_own_address,
    test_a_session_that_is_not_here_is_dropped,
    test_a_stream_nobody_wants_yet_is_absorbed,
    test_data_from_another_port_than_upstream_is_dropped,
    test_every_copy_has_right_header_checksums,
    test_the_agent_multicasts_repairs_to_all_but_itself,
    test_the_next_switch_gets_it_still_addressed_to_the_group,
    test_two_neighbours_on_one_port_get_a_copy_each,
    test_what_flows_down_reaches_every_branch_and_the_cache,
)
from tests.unit.p4.test_validation import (  # noqa: F401
    test_bad_packets_are_counted_and_dropped,
    test_ipv4_options_are_not_understood,
    test_mutated_frames_leave_only_as_the_session_allows,
    test_padding_of_a_short_frame_is_no_error,
)
