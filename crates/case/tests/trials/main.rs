//! Cases of Warp-style kernels on the interpreter, against NumPy functions in a real Python, and of CUDA
//! kernels on a GPU.
//!
//! Those that need a Python with NumPy (`WARPSMITH_PYTHON`, the active environment, `python3`) or a
//! GPU count as ignored where there is none.

mod folder;
mod functions;
mod gpu;
mod judge;
mod mutants;
mod on_vulkan;
mod references;
mod suite;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial, run};

fn main() -> ExitCode {
    let trials: &[(&str, bool, fn())] = &[
        (
            "a_numpy_function_in_float64_is_the_truth",
            true,
            references::a_numpy_function_in_float64_is_the_truth,
        ),
        (
            "vectors_and_matrices_have_a_truth_too",
            true,
            references::vectors_and_matrices_have_a_truth_too,
        ),
        (
            "equal_terms_may_add_up_their_rounding",
            true,
            references::equal_terms_may_add_up_their_rounding,
        ),
        (
            "clipped_results_leave_the_others_their_rounding",
            true,
            references::clipped_results_leave_the_others_their_rounding,
        ),
        (
            "a_zero_may_be_what_a_fused_product_leaves",
            true,
            references::a_zero_may_be_what_a_fused_product_leaves,
        ),
        (
            "a_wrong_kernel_shows_element_values_and_pattern",
            true,
            references::a_wrong_kernel_shows_element_values_and_pattern,
        ),
        (
            "a_reference_that_fails_is_an_error_with_its_place",
            true,
            references::a_reference_that_fails_is_an_error_with_its_place,
        ),
        (
            "time_and_memory_are_limited",
            true,
            references::time_and_memory_are_limited,
        ),
        (
            "another_kernel_is_a_reference_and_needs_no_python",
            false,
            references::another_kernel_is_a_reference_and_needs_no_python,
        ),
        (
            "stored_answers_are_compared_at_their_own_size",
            false,
            references::stored_answers_are_compared_at_their_own_size,
        ),
        (
            "a_case_that_contradicts_its_kernel_is_refused",
            false,
            references::a_case_that_contradicts_its_kernel_is_refused,
        ),
        (
            "what_an_output_held_before_is_told_without_a_reference",
            false,
            references::what_an_output_held_before_is_told_without_a_reference,
        ),
        (
            "a_python_function_is_checked_timed_and_tuned",
            true,
            functions::a_python_function_is_checked_timed_and_tuned,
        ),
        (
            "a_function_that_ends_its_process_is_refused_and_the_next_one_runs",
            true,
            functions::a_function_that_ends_its_process_is_refused_and_the_next_one_runs,
        ),
        (
            "the_suite_fits_its_kernels",
            false,
            suite::the_suite_fits_its_kernels,
        ),
        (
            "every_mutant_is_found",
            true,
            mutants::every_mutant_is_found,
        ),
        (
            "no_right_kernel_is_accused",
            true,
            mutants::no_right_kernel_is_accused,
        ),
        ("every_cheat_is_found", true, judge::every_cheat_is_found),
        (
            "no_honest_candidate_is_accused",
            true,
            judge::no_honest_candidate_is_accused,
        ),
        (
            "hostile_candidates_harm_nobody",
            true,
            judge::hostile_candidates_harm_nobody,
        ),
    ];
    let numpy = folder::has_numpy();
    let trials = trials.iter().map(|&(name, needs_numpy, trial)| {
        let test = move || {
            trial();
            Ok(())
        };
        Trial::test(name, test).with_ignored_flag(needs_numpy && !numpy)
    });
    let on_gpu: &[(&str, fn())] = &[
        (
            "a_right_kernel_with_host_code_is_right",
            gpu::a_right_kernel_with_host_code_is_right,
        ),
        (
            "wrong_kernels_are_found_on_the_gpu",
            gpu::wrong_kernels_are_found_on_the_gpu,
        ),
        (
            "a_case_is_measured_on_the_gpu",
            gpu::a_case_is_measured_on_the_gpu,
        ),
    ];
    let missing = gpu::is_missing();
    let on_gpu = on_gpu.iter().map(|&(name, trial)| {
        let test = move || {
            trial();
            Ok(())
        };
        Trial::test(name, test).with_ignored_flag(missing)
    });
    let on_vulkan: &[(&str, fn())] = &[
        (
            "a_python_kernel_is_checked_on_vulkan",
            on_vulkan::a_python_kernel_is_checked_on_vulkan,
        ),
        (
            "a_kernel_of_vectors_is_the_same_on_vulkan",
            on_vulkan::a_kernel_of_vectors_is_the_same_on_vulkan,
        ),
        (
            "a_python_kernel_is_timed_on_vulkan_under_its_roof",
            on_vulkan::a_python_kernel_is_timed_on_vulkan_under_its_roof,
        ),
        (
            "other_sources_are_refused_by_name",
            on_vulkan::other_sources_are_refused_by_name,
        ),
    ];
    let missing = on_vulkan::is_missing();
    let on_vulkan = on_vulkan.iter().map(|&(name, trial)| {
        let test = move || {
            trial();
            Ok(())
        };
        Trial::test(name, test).with_ignored_flag(missing)
    });
    let all = trials.chain(on_gpu).chain(on_vulkan).collect();
    run(&Arguments::from_args(), all).exit_code()
}
