//! Traces as text for people.

use std::fmt::Write;

use serde_json::Value;

pub fn render_trace(trace: &Value) -> String {
    let mut text = String::new();
    if trace["missed"] != 0 {
        line(&mut text, 0, format_args!("({} packets before were not traced)", trace["missed"]));
    }
    let seconds = trace["time"].as_f64().unwrap_or_default() / 1e9;
    let (switch, port, length) = (&trace["switch"], &trace["port"], &trace["length"]);
    let switch = switch.as_str().map_or_else(|| switch.to_string(), str::to_owned);
    line(&mut text, 0, format_args!("{length} bytes at port {port} of switch {switch}, {seconds:.6} s"));
    branch(&mut text, 1, trace);
    for (number, outcome) in (1..).zip(list(&trace["outcomes"])) {
        line(&mut text, 0, format_args!("outcome {number}"));
        for way in list(&outcome["ways"]) {
            let decisions: Vec<_> = list(way).map(word).collect();
            line(&mut text, 1, format_args!("way       {}", decisions.join("; ")));
        }
        for sent in list(&outcome["sent"]) {
            line(&mut text, 1, format_args!("sent      {} bytes at port {}", sent[1], sent[0]));
        }
        branch(&mut text, 1, outcome);
    }
    if trace["outcomes_cut"] == true {
        line(&mut text, 0, format_args!("... further outcomes were not tried"));
    }
    text
}

fn line(text: &mut String, depth: usize, content: std::fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "{:1$}{content}", "", 2 * depth);
}

fn branch(text: &mut String, depth: usize, pass: &Value) {
    let queue = &pass["queue"];
    let waited = queue["waited"].as_f64().unwrap_or_default() / 1e3;
    let (number, port, ahead) = (&queue["queue"], &queue["port"], &queue["depth"]);
    let stay = match queue.is_null() {
        true => String::new(),
        false => format!(", queue {number} of port {port}, {ahead} packets ahead, {waited:.1} us"),
    };
    line(text, depth, format_args!("{} ({}){stay}", word(&pass["pass"]), word(&pass["cause"])));
    for each in list(&pass["steps"]) {
        step(text, depth + 1, each);
    }
    line(text, depth + 1, format_args!("=> {}", word(&pass["verdict"])));
    for copy in list(&pass["copies"]) {
        branch(text, depth + 1, copy);
    }
    if let Some(cut) = pass["copies_cut"].as_u64() {
        line(text, depth + 1, format_args!("... {cut} further copies are not shown"));
    }
}

fn step(text: &mut String, depth: usize, step: &Value) {
    let get = |name: &str| word(&step[name]);
    let what = match get("step") {
        "state" => format!("state     {}", get("name")),
        "extract" => format!("extract   {}  {}", get("header"), values(&step["fields"])),
        "parser_error" => format!("error     {} ends the parser", get("error")),
        "checksum_error" => "error     a checksum is wrong".into(),
        "condition" => format!("if        {}  {}", get("text"), step["result"]),
        "table" => {
            let hit = if step["hit"] == true { "hit" } else { "miss" };
            let (key, arguments) = (values(&step["key"]), values(&step["arguments"]));
            let action = match get("action") {
                "" if arguments.is_empty() => "no action".to_owned(),
                // The next step is the member of the group.
                "" => format!("one of {arguments}"),
                action => format!("{action}({arguments})"),
            };
            format!("table     {}  {key}  {hit}: {action}", get("table"))
        }
        "action" if step["arguments"].is_null() => format!("action    {}", get("action")),
        "action" => format!("action    {}({})", get("action"), values(&step["arguments"])),
        "register_read" => format!("read      {}[{}] is {}", get("register"), get("index"), get("value")),
        "register_write" => format!("write     {}[{}] = {}", get("register"), get("index"), get("value")),
        "count" if step["reason"].is_null() => format!("count     {}[{}]", get("counter"), get("index")),
        "count" => {
            let reason = get("reason").replace('_', " ");
            format!("count     {}[{}], {reason}", get("counter"), get("index"))
        }
        "meter" => format!("meter     {}[{}] colour {}", get("meter"), get("index"), get("colour")),
        "clone" => format!("clone     to session {}", step["session"]),
        "digest" => format!("digest    {}", get("digest")),
        "truncate" => format!("truncate  to {} bytes", step["bytes"]),
        "cut" => "... further steps are not shown".into(),
        other => other.replace('_', " "),
    };
    let at = get("at");
    let at = if at.is_empty() { String::new() } else { format!("   {at}") };
    line(text, depth, format_args!("{}{at}", what.trim_end()));
}

fn values(pairs: &Value) -> String {
    let pair = |pair: &Value| format!("{}={}", word(&pair[0]), word(&pair[1]));
    list(pairs).map(pair).collect::<Vec<_>>().join(" ")
}

fn list(values: &Value) -> impl Iterator<Item = &Value> {
    values.as_array().into_iter().flatten()
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
#[path = "tests/trace_text.rs"]
mod tests;
