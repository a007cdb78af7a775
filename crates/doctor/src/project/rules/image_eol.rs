//! What a base image's name and tag say about ends of life.

use crate::project::rules::cuda_of_image;
use warpsmith_compatibility::{Release, lifecycle};

/// Debian's and Ubuntu's names in tags, with the release that they mean.
const CODENAMES: [(&str, &str, &str); 15] = [
    ("jammy", "ubuntu", "22.04"),
    ("noble", "ubuntu", "24.04"),
    ("trixie", "debian", "13"),
    ("stretch", "debian", "9"),
    ("buster", "debian", "10"),
    ("bullseye", "debian", "11"),
    ("bookworm", "debian", "12"),
    ("trusty", "ubuntu", "14.04"),
    ("xenial", "ubuntu", "16.04"),
    ("bionic", "ubuntu", "18.04"),
    ("focal", "ubuntu", "20.04"),
    ("ubi7", "rhel", "7"),
    ("ubi6", "rhel", "6"),
    ("manylinux2014", "centos", "7"),
    ("manylinux_2_17", "centos", "7"),
];

/// The words of an image's last name and tag.
fn words(image: &str) -> impl Iterator<Item = &str> {
    let image = image.split('@').next().unwrap_or(image);
    image
        .rsplit('/')
        .next()
        .unwrap_or(image)
        .split([':', '-', '_'])
}

/// The distribution of an image that has ended.
pub(super) fn ended_system(image: &str) -> Option<&'static Release> {
    system_of(image).filter(|row| !row.in_support)
}

/// Names that a path may call a release by: `18.04`, `1804`, `bionic`, `debian10`.
pub(in crate::project) fn names_of(release: &Release) -> Vec<String> {
    let (name, version) = (release.name.as_str(), release.version.as_str());
    let mut names = vec![format!("{name}{version}"), format!("{name}-{version}")];
    if version.contains('.') {
        names.push(version.to_owned());
        names.push(format!("{name}{}", version.replace('.', "")));
    }
    let codes = CODENAMES
        .iter()
        .filter(|(_, n, v)| *n == name && *v == version);
    names.extend(codes.map(|(code, ..)| (*code).to_owned()));
    names
}

/// The distribution that an image's name and tag tell.
pub(in crate::project) fn system_of(image: &str) -> Option<&'static Release> {
    let bare = image.split('@').next().unwrap_or(image);
    let systems = &lifecycle().operating_systems;
    let named = systems.iter().find(|row| {
        // `ubuntu20.04` in a tag, `ubuntu:20.04` as the image itself.
        let joined = format!("{}{}", row.name, row.version);
        let last = bare.rsplit('/').next().unwrap_or(bare);
        let itself = last.split_once(':').is_some_and(|(name, tag)| {
            name == row.name
                && (tag == row.version
                    || tag
                        .strip_prefix(row.version.as_str())
                        .is_some_and(|rest| rest.starts_with(['.', '-'])))
        });
        itself || words(bare).any(|word| word == joined)
    });
    named.or_else(|| {
        let (_, name, version) = CODENAMES.iter().find(|(code, ..)| {
            words(bare).any(|word| word == *code) || bare.contains(&format!("/{code}"))
        })?;
        systems
            .iter()
            .find(|row| row.name == *name && row.version == *version)
    })
}

/// The Python that an official image is for, where it has ended.
pub(super) fn ended_python(image: &str) -> Option<&'static Release> {
    let bare = image.split('@').next().unwrap_or(image);
    let (name, tag) = bare.rsplit('/').next().unwrap_or(bare).split_once(':')?;
    if name != "python" {
        return None;
    }
    let version = tag.split('-').next().unwrap_or(tag);
    let minor: Vec<&str> = version.split('.').take(2).collect();
    lifecycle().ended_python(&minor.join("."))
}

/// What NVIDIA's lists say about an image's CUDA, and whether they name this very tag.
pub(super) fn ended_cuda(image: &str) -> Option<(String, bool)> {
    let cuda = cuda_of_image(image)?;
    let images = &lifecycle().cuda_images;
    let name = cuda.minor_name();
    // Only NVIDIA's own tags carry the patch that the lists are about, and only they may be deleted by
    // NVIDIA's policy.
    let own = image.contains("nvidia/cuda:");
    if cuda.major() < 11 {
        let risk = if own { ": the pull may fail" } else { "" };
        return Some((
            format!(
                "the image is for CUDA {name}, which NVIDIA's image lists have not had since 2025{risk}"
            ),
            true,
        ));
    }
    let bare = image.split('@').next()?;
    let tag = bare.rsplit(':').next()?.split('-').next()?;
    if !own || tag.matches('.').count() != 2 || images.supported.iter().any(|v| v == tag) {
        return (cuda.major() == 11).then(|| {
            let risk = if own {
                ", and NVIDIA's policy allows the tag to be deleted"
            } else {
                ""
            };
            (
                format!("the image is for CUDA {name}: its drivers have ended{risk}"),
                false,
            )
        });
    }
    let newer = images.supported.iter().rfind(|v| {
        v.strip_prefix(name.as_str())
            .is_some_and(|rest| rest.starts_with('.'))
    });
    if images.superseded.iter().any(|v| v == tag) {
        let instead = newer.map_or(String::new(), |v| format!(": {v} took its place"));
        return Some((
            format!("NVIDIA no longer supports the image {tag}{instead}"),
            false,
        ));
    }
    if images.old.iter().any(|v| v == tag) || cuda.major() == 11 {
        return Some((
            format!("NVIDIA no longer supports images of CUDA {name}; the tag may be deleted"),
            true,
        ));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_are_read_from_names_tags_and_codenames() {
        for (image, name) in [
            ("nvidia/cuda:12.1.1-devel-ubuntu20.04", "ubuntu"),
            ("ubuntu:18.04", "ubuntu"),
            ("ubuntu:20.04@sha256:00", "ubuntu"),
            ("centos:7.9.2009", "centos"),
            ("nvidia/cuda:11.4.3-devel-centos7", "centos"),
            ("python:3.11-slim-bullseye", "debian"),
            ("amazonlinux:2", "amazonlinux"),
            ("quay.io/pypa/manylinux2014_x86_64:latest", "centos"),
            ("ubuntu:focal", "ubuntu"),
        ] {
            assert_eq!(
                ended_system(image).map(|r| r.name.as_str()),
                Some(name),
                "{image}"
            );
        }
        for image in [
            "ubuntu:22.04",
            "nvidia/cuda:12.8.2-devel-ubuntu24.04",
            "amazonlinux:2023",
            "rockylinux:8",
            "nvcr.io/nvidia/pytorch:25.01-py3",
            "debian:13",
        ] {
            assert!(ended_system(image).is_none(), "{image}");
        }
    }

    #[test]
    fn cuda_and_python_are_read_from_any_tag() {
        assert!(
            ended_cuda("pytorch/pytorch:1.12.0-cuda10.2-cudnn7-devel")
                .unwrap()
                .1
        );
        assert!(ended_cuda("nvidia/cuda:10.2-devel-ubuntu22.04").unwrap().1);
        // What NVIDIA may delete says nothing about tags of others.
        for other in [
            "pytorch/pytorch:1.12-cuda10.2",
            "pytorch/pytorch:2.1.0-cuda11.8-cudnn8-devel",
        ] {
            let (message, _) = ended_cuda(other).unwrap();
            assert!(
                !message.contains("deleted") && !message.contains("pull"),
                "{message}"
            );
        }
        assert!(
            !ended_cuda("nvidia/cuda:12.8.1-devel-ubuntu24.04")
                .unwrap()
                .1
        );
        assert!(
            !ended_cuda("nvidia/cuda:11.8.0-devel-ubuntu22.04")
                .unwrap()
                .1
        );
        assert!(ended_cuda("nvidia/cuda:12.8.2-devel-ubuntu24.04@sha256:00").is_none());
        assert!(ended_cuda("pytorch/pytorch:2.5.0-cuda12.4-cudnn9-devel").is_none());
        assert!(ended_python("python:3.8-slim").is_some() && ended_python("python:3.12").is_none());
    }
}
