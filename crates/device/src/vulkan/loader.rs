//! The Vulkan loader and one instance for the process.
//!
//! Invariant: neither is ever unloaded, so that everything made from them stays valid.

use std::ffi::{CStr, c_char, c_void};
use std::sync::{Mutex, OnceLock, PoisonError};

use ash::vk;
use libloading::Library;

use super::manifests::complaints;
use crate::error::{DeviceError, loader_words};

#[cfg(windows)]
const LIBRARY: &str = "vulkan-1.dll";
#[cfg(target_os = "macos")]
const LIBRARY: &str = "libvulkan.dylib";
#[cfg(not(any(windows, target_os = "macos")))]
const LIBRARY: &str = "libvulkan.so.1";

const VALIDATION: &CStr = c"VK_LAYER_KHRONOS_validation";

/// An instance, and what keeps its functions valid.
pub(super) struct Loader {
    pub(super) instance: ash::Instance,
    _entry: ash::Entry,
    _library: Library,
}

/// What the validation layer said since the process began.
static MESSAGES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// What the validation layer said since the process began; it runs if `WARPSMITH_VULKAN_VALIDATION=1`.
/// `None` where it does not run.
pub fn vulkan_messages() -> Option<Vec<String>> {
    let messages = MESSAGES.lock().unwrap_or_else(PoisonError::into_inner);
    validates().then(|| messages.clone())
}

fn validates() -> bool {
    std::env::var_os("WARPSMITH_VULKAN_VALIDATION").is_some_and(|value| value == "1")
}

/// Whether the validation layer is installed, where packages or `VK_LAYER_PATH` put it.
pub fn vulkan_validation_is_installed() -> bool {
    let listed = |folder: &str| {
        std::fs::read_dir(folder).is_ok_and(|entries| {
            let mut names = entries.flatten().map(|entry| entry.file_name());
            names.any(|name| name.to_string_lossy().contains("khronos_validation"))
        })
    };
    let folders = [
        "/usr/share/vulkan/explicit_layer.d",
        "/etc/vulkan/explicit_layer.d",
    ];
    let named = std::env::var("VK_LAYER_PATH").unwrap_or_default();
    folders.into_iter().chain(named.split(':')).any(listed)
}

/// The process's instance.
pub(super) fn loader() -> Result<&'static Loader, DeviceError> {
    static LOADER: OnceLock<Result<Loader, NoLoader>> = OnceLock::new();
    let loader = LOADER.get_or_init(open);
    loader.as_ref().map_err(|found| DeviceError::NoVulkan {
        seen: found.seen.clone(),
        manifests: found.manifests.clone(),
    })
}

/// What was seen instead of an instance.
struct NoLoader {
    seen: String,
    manifests: Vec<String>,
}

fn open() -> Result<Loader, NoLoader> {
    // SAFETY: loading the system's Vulkan loader runs its initialisers, which it is made for. The symbol has
    // the type that the specification gives it, and the library is kept beside the entry for ever.
    let (library, entry) = unsafe {
        let missing = |error: libloading::Error| NoLoader {
            seen: loader_words(&error),
            manifests: Vec::new(),
        };
        let library = Library::new(LIBRARY).map_err(missing)?;
        let get_instance_proc_addr: vk::PFN_vkGetInstanceProcAddr =
            *library.get(b"vkGetInstanceProcAddr\0").map_err(missing)?;
        let entry = ash::Entry::from_static_fn(ash::StaticFn {
            get_instance_proc_addr,
        });
        (library, entry)
    };
    let words = |call: &str, result: vk::Result| NoLoader {
        seen: format!("{result:?} from `{call}`"),
        manifests: complaints(),
    };
    let application = vk::ApplicationInfo::default()
        .application_name(c"warpsmith")
        .api_version(vk::API_VERSION_1_2);
    let mut layers = Vec::new();
    let mut extensions = Vec::new();
    if validates() {
        layers.push(VALIDATION.as_ptr());
        extensions.push(ash::ext::debug_utils::NAME.as_ptr());
    }
    let mut flags = vk::InstanceCreateFlags::empty();
    if offers(&entry, ash::khr::portability_enumeration::NAME) {
        // Without it the loader hides devices on top of Metal.
        extensions.push(ash::khr::portability_enumeration::NAME.as_ptr());
        flags |= vk::InstanceCreateFlags::ENUMERATE_PORTABILITY_KHR;
    }
    let wanted = vk::InstanceCreateInfo::default()
        .flags(flags)
        .application_info(&application)
        .enabled_layer_names(&layers)
        .enabled_extension_names(&extensions);
    // SAFETY: the structure and the names in it outlive the call.
    let instance = unsafe { entry.create_instance(&wanted, None) };
    let instance = instance.map_err(|result| words("vkCreateInstance", result))?;
    if validates() {
        let heard = listen(&entry, &instance);
        heard.map_err(|result| words("vkCreateDebugUtilsMessengerEXT", result))?;
    }
    Ok(Loader {
        instance,
        _entry: entry,
        _library: library,
    })
}

/// Whether the loader or a driver has an extension of instances.
fn offers(entry: &ash::Entry, name: &CStr) -> bool {
    // SAFETY: the entry is the loader's.
    let offered = unsafe { entry.enumerate_instance_extension_properties(None) };
    let offered = offered.unwrap_or_default();
    let mut names = offered.iter().map(|one| one.extension_name_as_c_str());
    names.any(|offered| offered == Ok(name))
}

/// Collects what the validation layer says.
fn listen(entry: &ash::Entry, instance: &ash::Instance) -> Result<(), vk::Result> {
    let wanted = vk::DebugUtilsMessengerCreateInfoEXT::default()
        .message_severity(
            vk::DebugUtilsMessageSeverityFlagsEXT::WARNING
                | vk::DebugUtilsMessageSeverityFlagsEXT::ERROR,
        )
        .message_type(
            vk::DebugUtilsMessageTypeFlagsEXT::VALIDATION
                | vk::DebugUtilsMessageTypeFlagsEXT::PERFORMANCE,
        )
        .pfn_user_callback(Some(hear));
    let utilities = ash::ext::debug_utils::Instance::new(entry, instance);
    // SAFETY: the extension was enabled above, and `hear` keeps no pointer. The messenger lives as long as
    // the instance, which is for ever.
    unsafe { utilities.create_debug_utils_messenger(&wanted, None) }.map(|_| ())
}

unsafe extern "system" fn hear(
    _: vk::DebugUtilsMessageSeverityFlagsEXT,
    _: vk::DebugUtilsMessageTypeFlagsEXT,
    data: *const vk::DebugUtilsMessengerCallbackDataEXT<'_>,
    _: *mut c_void,
) -> vk::Bool32 {
    // SAFETY: the layer passes a structure that is valid during the call, whose message is null or ends in a
    // zero.
    let message: *const c_char = unsafe { data.as_ref() }.map_or(std::ptr::null(), |d| d.p_message);
    if !message.is_null() {
        // SAFETY: as above.
        let text = unsafe { CStr::from_ptr(message) }.to_string_lossy();
        let mut messages = MESSAGES.lock().unwrap_or_else(PoisonError::into_inner);
        messages.push(text.into_owned());
    }
    vk::FALSE
}
