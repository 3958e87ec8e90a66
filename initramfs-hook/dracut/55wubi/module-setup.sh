#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# dracut: what boots from an image on a Windows volume. wubi-initrd says whether that is needed here, host-only or not, and in
# the end whether all of it is there. Of what dracut calls, only installkernel() can end the build, and it is called last.
# shellcheck disable=SC2154 # the lower-case variables are dracut's

check() {
    /usr/sbin/wubi-initrd needed --quiet
    [[ $? -ne 1 ]] || return 1
    # Off by default: a hibernated system would come back with the runs that the images had before Windows ran in between.
    [[ " $add_dracutmodules $force_add_dracutmodules $dracutmodules " == *" resume "* ]] || omit_dracutmodules+=" resume "
    return 0
}

# Only where it can be had: dracut leaves out, without an error, what depends on a module that cannot.
depends() {
    [[ " $omit_dracutmodules " != *" dm "* ]] && find_binary dmsetup > /dev/null && echo dm
    return 0
}

install() {
    local map device

    inst_multiple -o /etc/wubi/maps/*.map
    # At once, not when all modules are done: the check comes before that.
    DRACUT_RESOLVE_DEPS=1 inst_multiple -o /usr/sbin/wubi-attach dmsetup fsck fsck.ext4 e2fsck
    inst_multiple -o /etc/e2fsck.conf # as dracut's fs-lib does, which does not see root's file system from a chroot
    inst_rules 55-dm.rules 60-persistent-storage-dm.rules 95-dm-notify.rules "$moddir/59-wubi.rules"
    inst_hook emergency 90 "$moddir/wubi-emergency.sh"
    if ! dracut_module_included "systemd"; then
        inst_hook cmdline 90 "$moddir/wubi-root.sh"
        inst_hook initqueue/settled 20 "$moddir/wubi-attach.sh"
        inst_hook initqueue/finished 20 "$moddir/wubi-finished.sh"
        return
    fi
    inst_script "$moddir/wubi-generator.sh" "$systemdutildir/system-generators/wubi-generator"
    inst_simple "$moddir/wubi-attach.service" "$systemdsystemunitdir/wubi-attach.service"
    mkdir -p "$initdir$systemdsystemunitdir/initrd.target.wants"
    ln_r "$systemdsystemunitdir/wubi-attach.service" "$systemdsystemunitdir/initrd.target.wants/wubi-attach.service"
    # How long is waited for the device is wubi-attach's to decide.
    for map in "$initdir"/etc/wubi/maps/*.map; do
        device=${map##*/}
        device=${device%.map}
        inst_simple "$moddir/device-timeout.conf" \
            "/etc/systemd/system/dev-mapper-wubi\\x2d${device//-/\\x2d}.device.d/50-wubi.conf"
    done
}

installkernel() {
    hostonly='' instmods dm_mod ext4
    # Host-only, but no image is attached: this is not the machine, or not the disk, that the initrd is for. Which drivers
    # that one needs cannot be seen from here.
    if [[ $hostonly ]] && ! grep -qs '^WUBI-' /sys/block/dm-*/dm/uuid; then
        hostonly='' instmods "=drivers/ata" "=drivers/nvme" "=drivers/mmc" "=drivers/usb/host" "=drivers/usb/storage" sd_mod vmd \
            virtio_pci virtio_blk virtio_scsi xen-blkfront hv_storvsc megaraid_sas mptsas mptspi mpt3sas usbhid hid_generic
    fi
    [[ $kernel_only == yes ]] || /usr/sbin/wubi-initrd check --quiet --tree "$initdir" --kernel "$kernel"
}
