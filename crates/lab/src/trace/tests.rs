//! What is read, and what is refused and how.

use super::{Asks, Fault, Form, read};

const PHILLY: &str = "timestamp,duration,num_gpus,gpu_time,cluster\n";
const OPENB: &str =
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n";

#[test]
fn philly_is_sorted_by_time_and_counted_from_the_first() {
    let text = format!("{PHILLY}2017-10-09 07:01:55,66.0,1,66.0,b\n2017-10-09 07:00:55,2.5,8,20,a\n");
    let trace = read(&text, None).unwrap();
    assert_eq!((trace.form, trace.teams.as_slice()), (Form::Philly, ["a".to_owned(), "b".to_owned()].as_slice()));
    let seen: Vec<_> =
        trace.jobs.iter().map(|job| (job.submitted_s, job.run_s, job.asks.gpu_milli, job.team)).collect();
    assert_eq!(seen, [(0, 3, 8000, 0), (60, 66, 1000, 1)]);
    assert_eq!(trace.jobs.iter().map(|job| job.line).collect::<Vec<_>>(), [3, 2]);
}

#[test]
fn columns_are_found_by_name() {
    let text = "cluster,extra,num_gpus,duration,timestamp\nx,9,2,10,2017-10-09 07:01:55\n";
    let trace = read(text, None).unwrap();
    assert_eq!((trace.jobs[0].asks.gpu_milli, trace.jobs[0].run_s), (2000, 10));
}

#[test]
fn of_ten_jobs_one_is_high_and_three_are_normal() {
    let rows = "2017-10-09 07:01:55,66.0,1,66.0,b\n".repeat(20);
    let trace = read(&format!("{PHILLY}{rows}"), None).unwrap();
    let count = |class| trace.jobs.iter().filter(|job| job.priority == class).count();
    assert_eq!([count(2), count(1), count(0)], [2, 6, 12]);
}

#[test]
fn gavel_and_openb_are_read() {
    let text = "job_id,unit_arrival,scale_factor,duration_s_on_v100,job_type\n\
                0,0.5,8,68344.350,ResNet-18 (batch size 64)\n1,2,1,5,LM (batch size 5)\n";
    let trace = read(text, None).unwrap();
    assert_eq!(trace.teams, ["LM", "ResNet-18"]);
    assert_eq!((trace.jobs[0].run_s, trace.jobs[1].submitted_s), (68_345, 5400));
    let text = format!(
        "{OPENB}p0,12000,16384,1,460,,LS,Running,10,20,10\np1,1,1,0,0,,BE,Running,0,9,0\np2,5,6,2,1000,,BE,Running,3,9,0\n"
    );
    let trace = read(&text, None).unwrap();
    assert_eq!((trace.left_out, trace.jobs.len()), (1, 2));
    assert_eq!(trace.jobs[1].asks, Asks { gpu_milli: 460, cpu_milli: 12_000, memory_mib: 16_384 });
    assert_eq!((trace.jobs[0].asks.gpu_milli, trace.jobs[0].priority, trace.jobs[1].priority), (2000, 0, 2));
}

#[test]
fn a_limit_keeps_the_first_by_time() {
    let text = format!("{PHILLY}2017-10-09 07:01:55,66.0,1,66.0,b\n2017-10-09 07:00:55,2.5,8,20,a\n");
    let trace = read(&text, Some(1)).unwrap();
    assert_eq!((trace.jobs.len(), trace.teams.len(), trace.jobs[0].line), (1, 1, 3));
}

#[test]
fn bad_values_are_named_with_line_column_and_what_is_accepted() {
    let good = "2017-10-09 07:01:55,66.0,1,66.0,b\n";
    for (row, column) in [
        ("yesterday,66.0,1,66.0,b", "timestamp"),
        ("2017-13-09 07:01:55,66.0,1,66.0,b", "timestamp"),
        ("2017-10-09 07:01:55,-66.0,1,66.0,b", "duration"),
        ("2017-10-09 07:01:55,1e3,1,66.0,b", "duration"),
        ("2017-10-09 07:01:55,99999999999,1,66.0,b", "duration"),
        ("2017-10-09 07:01:55,66.0,1.5,66.0,b", "num_gpus"),
        ("2017-10-09 07:01:55,66.0,100001,66.0,b", "num_gpus"),
        ("2017-10-09 07:01:55,66.0,1,66.0,", "cluster"),
    ] {
        let refused = read(&format!("{PHILLY}{good}{row}\n"), None).unwrap_err();
        let Fault::Value { line, column: found, accepted, .. } = &refused else { panic!("{row}: {refused}") };
        assert_eq!((*line, *found), (3, column), "{row}");
        assert!(refused.to_string().contains(accepted) && !accepted.is_empty());
    }
    let refused = read(&format!("{OPENB}p,1,1,1,1000,,Gold,Running,10,20,10\n"), None).unwrap_err();
    assert!(refused.to_string().contains("`Gold` is not accepted; accepted: LS, Guaranteed"), "{refused}");
    let refused = read(&format!("{OPENB}p,1,1,1,1000,,LS,Running,30,20,10\n"), None).unwrap_err();
    assert!(refused.to_string().starts_with("line 2, column `deletion_time`"), "{refused}");
}

#[test]
fn bad_lines_are_refused() {
    let refusal = |rows: &str| read(&format!("{PHILLY}{rows}"), None).unwrap_err().to_string();
    assert!(refusal("1,2\n").starts_with("line 2: 2 fields; accepted: 5"));
    assert!(refusal("\"2017-10-09 07:01:55\",66.0,1,66.0,b\n").starts_with("line 2: a quoted field"));
    assert!(refusal(&"x".repeat(5000)).starts_with("line 2: 5000 bytes"));
    assert_eq!(read(PHILLY, None), Err(Fault::Empty));
    assert_eq!(read("", None), Err(Fault::Header));
    assert!(read("a,b\n1,2\n", None).unwrap_err().to_string().contains("timestamp,duration,num_gpus,cluster"));
    let many: String = (0..1025).map(|team| format!("2017-10-09 07:01:55,66.0,1,66.0,t{team}\n")).collect();
    assert_eq!(refusal(&many), "line 1026: 1025 teams in all; accepted: at most 1024");
}
