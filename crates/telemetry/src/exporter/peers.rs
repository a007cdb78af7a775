//! What other exporters call the same thing, for those who move dashboards from them.

/// A metric here, and its nearest relatives elsewhere; units may differ, as their names say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peers {
    /// The name here.
    pub ours: &'static str,
    /// NVIDIA's dcgm-exporter 4; empty where it has none.
    pub dcgm: &'static str,
    /// nvidia_gpu_exporter 1.14; empty where it has none.
    pub nvidia_smi: &'static str,
}

macro_rules! peers {
    ($($ours:literal $dcgm:literal $nvidia_smi:literal;)*) => {
        &[$(Peers {
            ours: concat!("warpsmith_", $ours),
            dcgm: $dcgm,
            nvidia_smi: $nvidia_smi,
        }),*]
    };
}

/// By the name here.
pub const PEERS: &[Peers] = peers![
    "gpu_busy_ratio" "DCGM_FI_DEV_GPU_UTIL" "nvidia_smi_utilization_gpu_ratio";
    "gpu_memory_busy_ratio" "DCGM_FI_DEV_MEM_COPY_UTIL" "nvidia_smi_utilization_memory_ratio";
    "gpu_power_watts" "DCGM_FI_DEV_POWER_USAGE" "nvidia_smi_power_draw_watts";
    "gpu_power_limit_watts" "DCGM_FI_DEV_POWER_MGMT_LIMIT" "nvidia_smi_enforced_power_limit_watts";
    "gpu_energy_joules_total" "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION" "nvidia_smi_energy_joules_total";
    "gpu_temperature_celsius" "DCGM_FI_DEV_GPU_TEMP" "nvidia_smi_temperature_gpu";
    "gpu_memory_temperature_celsius" "DCGM_FI_DEV_MEMORY_TEMP" "nvidia_smi_temperature_memory";
    "gpu_thermal_margin_celsius" "" "nvidia_smi_temperature_gpu_tlimit";
    "gpu_sm_clock_hertz" "DCGM_FI_DEV_SM_CLOCK" "nvidia_smi_clocks_current_sm_clock_hz";
    "gpu_memory_clock_hertz" "DCGM_FI_DEV_MEM_CLOCK" "nvidia_smi_clocks_current_memory_clock_hz";
    "gpu_memory_used_bytes" "DCGM_FI_DEV_FB_USED" "nvidia_smi_memory_used_bytes";
    "gpu_memory_reserved_bytes" "DCGM_FI_DEV_FB_RESERVED" "nvidia_smi_memory_reserved_bytes";
    "gpu_memory_total_bytes" "DCGM_FI_DEV_FB_TOTAL" "nvidia_smi_memory_total_bytes";
    "gpu_ecc_corrected_errors_total" "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL" "nvidia_smi_ecc_errors_corrected_volatile_total";
    "gpu_ecc_uncorrected_errors_total" "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL" "nvidia_smi_ecc_errors_uncorrected_volatile_total";
    "gpu_row_remap_pending" "DCGM_FI_DEV_ROW_REMAP_PENDING" "nvidia_smi_remapped_rows_pending";
    "gpu_row_remap_failed" "DCGM_FI_DEV_ROW_REMAP_FAILURE" "nvidia_smi_remapped_rows_failure";
    "gpu_pcie_generation" "DCGM_FI_DEV_PCIE_LINK_GEN" "nvidia_smi_pcie_link_gen_current";
    "gpu_pcie_generation_max" "DCGM_FI_DEV_PCIE_MAX_LINK_GEN" "nvidia_smi_pcie_link_gen_max";
    "gpu_pcie_width" "DCGM_FI_DEV_PCIE_LINK_WIDTH" "nvidia_smi_pcie_link_width_current";
    "gpu_pcie_width_max" "DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH" "nvidia_smi_pcie_link_width_max";
    "gpu_pcie_sent_bytes_total" "DCGM_FI_PROF_PCIE_TX_BYTES" "nvidia_smi_pcie_throughput_tx_bytes_per_second";
    "gpu_pcie_received_bytes_total" "DCGM_FI_PROF_PCIE_RX_BYTES" "nvidia_smi_pcie_throughput_rx_bytes_per_second";
    "gpu_pcie_replays_total" "DCGM_FI_DEV_PCIE_REPLAY_COUNTER" "";
    "gpu_fan_ratio" "DCGM_FI_DEV_FAN_SPEED" "nvidia_smi_fan_speed_ratio";
    "gpu_encoder_busy_ratio" "DCGM_FI_DEV_ENC_UTIL" "nvidia_smi_utilization_encoder_ratio";
    "gpu_decoder_busy_ratio" "DCGM_FI_DEV_DEC_UTIL" "nvidia_smi_utilization_decoder_ratio";
    "gpu_sm_active_ratio" "DCGM_FI_PROF_SM_ACTIVE" "";
    "gpu_sm_occupancy_ratio" "DCGM_FI_PROF_SM_OCCUPANCY" "";
    "gpu_tensor_active_ratio" "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE" "";
    "gpu_dram_active_ratio" "DCGM_FI_PROF_DRAM_ACTIVE" "";
    "gpu_fp64_active_ratio" "DCGM_FI_PROF_PIPE_FP64_ACTIVE" "";
    "gpu_fp32_active_ratio" "DCGM_FI_PROF_PIPE_FP32_ACTIVE" "";
    "gpu_fp16_active_ratio" "DCGM_FI_PROF_PIPE_FP16_ACTIVE" "";
    "gpu_nvlink_received_bytes_per_second" "DCGM_FI_PROF_NVLINK_RX_BYTES" "";
    "gpu_nvlink_sent_bytes_per_second" "DCGM_FI_PROF_NVLINK_TX_BYTES" "";
    "gpu_performance_state" "DCGM_FI_DEV_PSTATE" "nvidia_smi_pstate";
    "gpu_throttle_seconds_total" "DCGM_FI_DEV_POWER_VIOLATION and others" "nvidia_smi_clocks_event_reasons_counters_…_seconds";
    "gpu_xid_errors_total" "DCGM_EXP_XID_ERRORS_COUNT" "nvidia_smi_xid_errors_total";
    "gpu_xid_last_timestamp_seconds" "" "nvidia_smi_xid_last_timestamp_seconds";
    "gpu_process_memory_bytes" "" "nvidia_smi_compute_app_used_memory_bytes";
    "gpu_info" "modelName and others, as labels" "nvidia_smi_gpu_info";
    "mig_memory_used_bytes" "DCGM_FI_DEV_FB_USED with GPU_I_ID" "nvidia_smi_mig_memory_used_bytes";
    "mig_memory_total_bytes" "" "nvidia_smi_mig_memory_total_bytes";
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exporter::metrics;

    #[test]
    fn every_name_here_is_one_of_the_page() {
        for peers in PEERS {
            assert!(
                metrics().any(|metric| metric.name == peers.ours),
                "{}",
                peers.ours
            );
            assert!(!peers.dcgm.is_empty() || !peers.nvidia_smi.is_empty());
        }
    }
}
