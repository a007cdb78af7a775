//! The few fields of `nvidia-smi -q -x` that rules need. The document is flat enough that elements
//! are found by name inside each `<gpu>` block; a document that is not XML gives an empty list.

use crate::machine::facts::GpuHealth;

pub(crate) fn parse_smi_xml(text: &str) -> Vec<GpuHealth> {
    text.split("<gpu id=")
        .skip(1)
        .take(64)
        .map(|block| {
            let block = block.split("</gpu>").next().unwrap_or(block);
            let number = |name| {
                element(block, name)?
                    .split_whitespace()
                    .next()?
                    .parse()
                    .ok()
            };
            let yes =
                |name| element(block, name).is_some_and(|value| value.eq_ignore_ascii_case("yes"));
            let mut pending_repair = Vec::new();
            if yes("remapped_row_pending") {
                pending_repair.push("a row remapping is pending: the GPU needs a reset".to_owned());
            }
            if yes("remapped_row_failure") {
                pending_repair.push("a row could not be remapped".to_owned());
            }
            if yes("pending_retirement") || yes("pending_blacklist") {
                pending_repair.push("pages wait for retirement: the GPU needs a reset".to_owned());
            }
            if let Some(volatile) = section(block, "volatile") {
                for name in ["dram_uncorrectable", "sram_uncorrectable"] {
                    let count: u64 = element(volatile, name)
                        .and_then(|v| v.parse().ok())
                        .unwrap_or(0);
                    if count > 0 {
                        pending_repair.push(format!("{count} uncorrected memory errors ({name})"));
                    }
                }
            }
            let throttle = [
                "hw_thermal_slowdown",
                "sw_thermal_slowdown",
                "hw_power_brake_slowdown",
                "hw_slowdown",
            ]
            .into_iter()
            .filter(|reason| {
                ["clocks_event_reason_", "clocks_throttle_reason_"]
                    .iter()
                    .any(|prefix| {
                        element(block, &format!("{prefix}{reason}")).is_some_and(|v| v == "Active")
                    })
            })
            .map(str::to_owned)
            .collect();
            GpuHealth {
                compute_mode: element(block, "compute_mode").map(str::to_owned),
                mig_enabled: element(block, "current_mig")
                    .filter(|v| *v != "N/A")
                    .map(|v| v == "Enabled"),
                mig_instances: block.matches("<mig_device>").count(),
                pending_repair,
                throttle,
                memory_used_mib: section(block, "fb_memory_usage")
                    .and_then(|s| element(s, "used"))
                    .and_then(|v| v.split_whitespace().next())
                    .and_then(|v| v.parse().ok())
                    .or_else(|| number("used")),
                persistence: element(block, "persistence_mode").map(|v| v == "Enabled"),
            }
        })
        .collect()
}

fn section<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let from = text.find(&format!("<{name}>"))?;
    let rest = &text[from..];
    Some(&rest[..rest.find(&format!("</{name}>"))?])
}

fn element<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let body = section(text, name)?;
    Some(body[body.find('>')? + 1..].trim())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_fields_of_two_gpus_are_kept_apart() {
        let gpus = parse_smi_xml(
            "<nvidia_smi_log><gpu id=\"0\"><compute_mode>Prohibited</compute_mode><mig_mode><current_mig>Enabled\
             </current_mig></mig_mode><remapped_row_pending>Yes</remapped_row_pending></gpu>\
             <gpu id=\"1\"><compute_mode>Default</compute_mode><current_mig>N/A</current_mig>\
             <clocks_event_reason_hw_slowdown>Active</clocks_event_reason_hw_slowdown></gpu></nvidia_smi_log>",
        );
        assert_eq!(gpus.len(), 2);
        assert_eq!(gpus[0].mig_enabled, Some(true));
        assert_eq!(gpus[0].pending_repair.len(), 1);
        assert_eq!(gpus[1].mig_enabled, None);
        assert_eq!(gpus[1].throttle, ["hw_slowdown"]);
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in "(<gpu id=|</?[a-z_]{1,12}>|[A-Za-z0-9 ]|\\PC){0,80}") {
            let _ = parse_smi_xml(&text);
        }
    }
}
