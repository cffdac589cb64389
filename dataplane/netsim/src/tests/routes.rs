use super::*;

fn network(links: &[(usize, usize, u64)], count: usize, hosts: &[usize]) -> Vec<Vec<Hop>> {
    let mut steps = vec![Vec::new(); count];
    for (number, &(a, b, delay)) in (0..).zip(links) {
        for (near, far, direction) in [(a, b, 0), (b, a, 1)] {
            let port = steps[near].len() as u16;
            let link = LinkId(2 * number + direction);
            let forwards = !hosts.contains(&far);
            let to = NodeId(far as u32);
            steps[near].push(Hop { port, link, delay: Nanos(delay), to, forwards });
        }
    }
    steps
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("n{n}")).collect()
}

#[test]
fn fewest_hops_then_least_delay_then_names() {
    // Hosts 0 and 5 on switches 1 and 4; between these 2 or 3, or a way round by 6 and 7.
    let mut links = vec![
        (0, 1, 1),
        (4, 5, 1),
        (1, 3, 5),
        (3, 4, 5),
        (1, 2, 5),
        (2, 4, 5),
        (1, 6, 1),
        (6, 7, 1),
        (7, 4, 1),
    ];
    let hosts = [(100, NodeId(0)), (105, NodeId(5))];
    let steps = network(&links, 8, &[0, 5]);
    let routes = Routes::new(&hosts, &steps, &names(8));
    let to = |routes: &Routes, steps: &[Vec<Hop>]| {
        let path = routes.path(NodeId(0), 105, steps).expect("a way");
        path.iter().map(|link| link.0 / 2).collect::<Vec<_>>()
    };
    assert_eq!(to(&routes, &steps), [0, 4, 5, 1], "by name");
    links[5].2 = 6;
    let steps = network(&links, 8, &[0, 5]);
    assert_eq!(to(&Routes::new(&hosts, &steps, &names(8)), &steps), [0, 2, 3, 1], "by delay");
    assert_eq!(routes.port(NodeId(1), 100), Some(0));
    assert_eq!(routes.port(NodeId(1), 99), None);
}

#[test]
fn hosts_do_not_forward() {
    let steps = network(&[(0, 1, 1), (1, 2, 1)], 3, &[1]);
    let routes = Routes::new(&[(7, NodeId(1))], &steps, &names(3));
    assert_eq!(routes.port(NodeId(2), 7), None, "the host's second link is not its way");
    assert_eq!(routes.port(NodeId(0), 7), Some(0));
}
