# SPDX-License-Identifier: GPL-2.0-or-later
#
# make deps      install what is missing (Debian 12; root or sudo)
# make           build
# make demo      install what is missing, build, show it on a throwaway NTFS volume
# make check     install what is missing, build, run every test
# make deb       build/deb/wubi-tools_VERSION_ARCH.deb and wubi-installer_VERSION_ARCH.deb
# make install   the same files without a package
#
# Variables: BUILD, CC, CFLAGS, SANITIZE, WERROR=1 (or CI=true), DESTDIR, prefix, FUZZ_SECONDS, V=1 (shows the commands)
#
# prefix is of programs, man pages and completion. Hooks and units lie where initramfs-tools, dracut, kernel packages and systemd
# look for them, and call their programs in /usr/sbin: hence the default.

BUILD  ?= build
prefix ?= /usr
CFLAGS ?= -O2 -g
FUZZ_SECONDS ?= 60

VERSION := $(shell cat VERSION)
JOBS    := $(shell nproc 2>/dev/null || echo 1)
PKGS    := libntfs-3g ext2fs com_err devmapper json-c blkid uuid zlib libudev mount libarchive libelf libconfuse libmd libparted efiboot efivar libcrypt

WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 -Wvla
ifneq ($(filter true 1,$(CI) $(WERROR)),)
WARNINGS += -Werror
endif
PKG_CFLAGS := $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
PKG_LIBS   := $(shell pkg-config --libs $(PKGS) 2>/dev/null)

BASE_FLAGS := -std=gnu17 -D_GNU_SOURCE -Isrc -DWUBI_VERSION='"$(VERSION)"' $(PKG_CFLAGS)
COMPILE     = $(CC) $(BASE_FLAGS) $(WARNINGS) -MMD -MP $(CPPFLAGS) $(CFLAGS) $(SANITIZE)
# A program needs only the libraries of the modules that it uses: what wubi-attach needs goes into the initramfs.
LINK        = $(CC) $(CFLAGS) -Wl,--as-needed $(LDFLAGS) $(SANITIZE)
SUBMAKE     = $(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(JOBS))

QUIET        = $(if $(V),,@echo "  $(1) $@";)

# A source file is built because it is there.
LIB_SRC     := $(sort $(wildcard src/*.c))
INSTALL_SRC := $(sort $(wildcard installer/wubi-install.c installer/install_*.c))
DISK_SRC    := $(sort $(filter-out $(INSTALL_SRC),$(wildcard installer/*.c)))
PROFILE_SRC := $(sort $(wildcard sysctl/*.c))
HOOK_SRC    := $(sort $(wildcard initramfs-hook/*.c))
UNIT_SRC    := $(sort $(wildcard tests/unit/test_*.c))
PRELOAD_SRC := $(sort $(wildcard tests/*/*shim*.c))
ALLOC_SRC   := $(wildcard tests/fault/alloc/allocfail.c)
FUZZ_SRC    := $(sort $(wildcard tests/fuzz/fuzz_*.c))
REPLAY_SRC  := $(wildcard tests/fuzz/replay.c)
VM_SRC      := $(sort $(wildcard tests/vm/*.c))
TOOL_SRC    := $(sort $(filter-out $(PRELOAD_SRC) $(FUZZ_SRC) $(REPLAY_SRC),\
		$(wildcard tests/cli/*.c tests/fault/*.c tests/fuzz/*.c tests/bench/*.c tests/fixtures/*.c tests/power/*.c)))

obj = $(patsubst %.c,$(BUILD)/%.o,$(1))
bin = $(patsubst %.c,$(BUILD)/%,$(1))

LIB      := $(BUILD)/libwubi.a
DISK     := $(BUILD)/wubi-disk
INSTALL  := $(if $(INSTALL_SRC),$(BUILD)/wubi-install)
PROFILE  := $(if $(PROFILE_SRC),$(BUILD)/wubi-profile)
HOOKS    := $(patsubst initramfs-hook/%.c,$(BUILD)/%,$(wildcard initramfs-hook/wubi-*.c))
UNIT     := $(call bin,$(UNIT_SRC))
TOOLS    := $(call bin,$(TOOL_SRC))
VM_TOOLS := $(patsubst tests/vm/%.c,$(BUILD)/tests/%,$(VM_SRC))
PRELOADS := $(patsubst %.c,$(BUILD)/%.so,$(PRELOAD_SRC))
ALLOC    := $(if $(ALLOC_SRC),$(BUILD)/tests/fault/wubi-disk-allocfail)
WRAPPED  := malloc calloc realloc reallocarray strdup strndup vasprintf asprintf open_memstream
REPLAYS  := $(if $(REPLAY_SRC),$(call bin,$(FUZZ_SRC)))
ALL_OBJ  := $(call obj,$(LIB_SRC) $(DISK_SRC) $(INSTALL_SRC) $(PROFILE_SRC) $(HOOK_SRC) $(UNIT_SRC) $(TOOL_SRC) $(VM_SRC) $(FUZZ_SRC) \
	$(REPLAY_SRC) $(ALLOC_SRC))

# The package: built in a copy of these, so that nothing of it comes into the tree.
DEB_FROM  := LICENSE Makefile README.md VERSION debian docs initramfs-hook installer src sysctl
DEB_FILES := $(shell find $(wildcard $(DEB_FROM)) -type f)
DEB_TREE  := $(BUILD)/deb/wubi-tools-$(VERSION)
DEB       := $(BUILD)/deb/wubi-tools_$(VERSION)_$(shell dpkg --print-architecture 2>/dev/null || echo none).deb

# What build, demo, tests, lint, fuzz and check-fresh need. make itself has to be there.
DEPS := bats bsdextrautils bzip2 ca-certificates clang clang-tidy cpio cppcheck debhelper dmsetup dosfstools dpkg-dev \
	e2fsprogs exfatprogs fdisk fio fuse3 gcc git grub-common initramfs-tools-core jq kmod libarchive-dev \
	libblkid-dev libc6-dev libclang-rt-14-dev libcmocka-dev libconfuse-dev libcrypt-dev libdevmapper-dev \
	libefiboot-dev libefivar-dev libelf-dev libext2fs-dev libjson-c-dev libmd-dev libmount-dev libparted-dev \
	libudev-dev lintian llvm-14 lz4 make man-db mandoc mmdebstrap mount mtools ntfs-3g ntfs-3g-dev os-prober ovmf \
	p7zip-full perl pkg-config procps python3 qemu-system-x86 shellcheck sleuthkit squashfs-tools strace systemd \
	user-mode-linux util-linux uuid-dev valgrind xorriso xz-utils zlib1g-dev zstd

.PHONY: all deps demo test-programs run-check check check-unit check-cli check-fault check-vm check-power check-boot check-install check-package \
	soak lint check-fresh check-asan check-valgrind fuzz fuzzers bench install deb clean
.DELETE_ON_ERROR:

all: $(LIB) $(DISK) $(INSTALL) $(PROFILE) $(HOOKS)

deps:
	@tests/deps $(DEPS)

demo: deps
	@$(SUBMAKE) all
	@BUILD=$(abspath $(BUILD)) tests/demo.sh

test-programs: all $(UNIT) $(TOOLS) $(VM_TOOLS) $(PRELOADS) $(ALLOC) $(REPLAYS)

# The second make looks again for the libraries that deps has just installed.
check: deps
	@$(SUBMAKE) run-check

run-check: test-programs deb
	@BUILD=$(abspath $(BUILD)) tests/run unit cli fault vm power boot install package lint

check-unit check-cli check-fault check-vm check-power: check-%: test-programs
	@BUILD=$(abspath $(BUILD)) tests/run $*

check-package check-boot check-install: check-%: test-programs deb
	@BUILD=$(abspath $(BUILD)) tests/run $*

# The long list of boots, and of power cuts. SOAK: names of boot cases, or --all; else those that have not passed as things are.
soak: test-programs deb
	@BUILD=$(abspath $(BUILD)) tests/soak/soak $(SOAK)
	@[ -n "$(SOAK)" ] || BUILD=$(abspath $(BUILD)) tests/power/soak

lint: all
	@BUILD=$(abspath $(BUILD)) tests/run lint

check-fresh:
	@tests/fresh.sh

check-asan:
	@$(SUBMAKE) BUILD=build-asan CFLAGS='-O1 -g -fno-omit-frame-pointer' \
		SANITIZE='-fsanitize=address,undefined -fno-sanitize-recover=all' test-programs
	@BUILD=$(abspath build-asan) WUBI_ASAN=1 tests/run unit cli fault

check-valgrind: test-programs
	@BUILD=$(abspath $(BUILD)) WUBI_VALGRIND=1 tests/run unit cli

fuzz:
	@$(SUBMAKE) BUILD=build-fuzz CC=clang CFLAGS='-O1 -g -fno-omit-frame-pointer' \
		SANITIZE='-fsanitize=fuzzer-no-link,address,undefined' fuzzers
	@BUILD=$(abspath build-fuzz) tests/fuzz.sh $(FUZZ_SECONDS)

fuzzers: $(patsubst %.c,$(BUILD)/%-fuzzer,$(FUZZ_SRC))

bench: test-programs deb
	@BUILD=$(abspath $(BUILD)); export BUILD; \
	for script in tests/bench/*.sh tests/bench/*.py; do echo "== $$script"; "$$script" || exit; done

DRACUT     := initramfs-hook/dracut/55wubi
UNITS      := $(wildcard $(addprefix initramfs-hook/systemd/*.,service path timer) sysctl/systemd/*.service)
TOP_SCRIPT := initramfs-hook/initramfs-tools/scripts/local-top/wubi

# What is there is installed: 'make deb' calls this, so that there is one list. /usr/sbin/grub-install is GRUB's own where no package
# has it diverted: it goes into a DESTDIR alone.
install: all
	$(call put,755,$(DISK) $(INSTALL) $(PROFILE) $(HOOKS),$(prefix)/sbin)
	$(call put,644,$(wildcard docs/man/*.5),$(prefix)/share/man/man5)
	$(call put,644,$(wildcard docs/man/*.7),$(prefix)/share/man/man7)
	$(call put,644,$(wildcard docs/man/*.8),$(prefix)/share/man/man8)
	$(call put,644,$(wildcard docs/completion/*),$(prefix)/share/bash-completion/completions)
	$(call put,644,README.md docs/boot.md docs/recovery.md docs/architecture.md,$(prefix)/share/doc/wubi-tools)
	$(call put,644,$(wildcard docs/install.md),$(prefix)/share/doc/wubi-installer)
	$(call put,644,$(wildcard installer/wubi-install.conf),$(prefix)/share/doc/wubi-installer/examples)
	$(call put_as,755,initramfs-hook/initramfs-tools/hooks/wubi,/usr/share/initramfs-tools/hooks/wubi)
	$(call put_as,755,$(TOP_SCRIPT),/usr/share/initramfs-tools/scripts/local-top/wubi)
	$(call put_as,644,initramfs-hook/build-in-memory,/usr/share/wubi-tools/build-in-memory)
	$(call put_as,644,initramfs-hook/initramfs-tools/conf-hooks.d/wubi,/usr/share/initramfs-tools/conf-hooks.d/wubi)
	$(call put_as,644,initramfs-hook/dracut/50-wubi.conf,/usr/lib/dracut/dracut.conf.d/50-wubi.conf)
	$(call put,755,$(wildcard $(DRACUT)/*.sh),/usr/lib/dracut/modules.d/55wubi)
	$(call put,644,$(filter-out %.sh,$(wildcard $(DRACUT)/*)),/usr/lib/dracut/modules.d/55wubi)
	$(call put,644,$(UNITS),/usr/lib/systemd/system)
	$(call put_as,755,initramfs-hook/kernel/postinst.d-zy-wubi,/etc/kernel/postinst.d/zy-wubi)
	$(call put_as,755,initramfs-hook/kernel/postinst.d-zzz-wubi,/etc/kernel/postinst.d/zzz-wubi)
	$(call put_as,755,initramfs-hook/kernel/postrm.d-zzz-wubi,/etc/kernel/postrm.d/zzz-wubi)
	$(call put_as,755,initramfs-hook/kernel/post-update.d-zy-wubi,/etc/initramfs/post-update.d/zy-wubi)
	$(call put_as,755,initramfs-hook/kernel/post-update.d-zzz-wubi,/etc/initramfs/post-update.d/zzz-wubi)
	$(call put_as,755,initramfs-hook/grub/35_wubi,/etc/grub.d/35_wubi)
	$(call put_as,644,initramfs-hook/profile.d/wubi-health.sh,/etc/profile.d/wubi-health.sh)
	$(if $(DESTDIR),$(call put_as,755,initramfs-hook/grub/grub-install,/usr/sbin/grub-install))
	$(call put,755,sysctl/systemd/wubi-profile-generator,/usr/lib/systemd/system-generators)
	$(call put_as,644,sysctl/wubi.conf,/etc/wubi/wubi.conf)
	install -d $(DESTDIR)/etc/wubi/maps

# $(call put,MODE,FILES,FOLDER); $(call put_as,MODE,FILE,PATH) does nothing when there is no such file.
put = @for file in $(2); do echo "  INSTALL $(3)/$${file\#\#*/}"; \
	install -D -m $(1) "$$file" "$(DESTDIR)$(3)/$${file\#\#*/}" || exit; done
put_as = $(if $(wildcard $(2)),@echo "  INSTALL $(3)" && install -D -m $(1) $(2) "$(DESTDIR)$(3)")

# Out of the tree, in a copy of what the package is made of; the objects of the last time are kept.
$(DEB): $(DEB_FILES)
	@mkdir -p $(DEB_TREE) && rm -f $(BUILD)/deb/*.deb
	@find $(DEB_TREE) -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
	@cp -a $(wildcard $(DEB_FROM)) $(DEB_TREE)/
	$(call QUIET,DEB)cd $(DEB_TREE) && env -u BUILD -u MAKEFLAGS -u MAKELEVEL -u CFLAGS -u DESTDIR \
		DEB_BUILD_OPTIONS=noautodbgsym dpkg-buildpackage -b -nc -us -uc -j$(JOBS) >../build.log 2>&1 || \
		{ tail -n 40 ../build.log >&2; exit 1; }
	@[ -e $@ ] || { echo "deb: the version in debian/changelog is not that of VERSION" >&2; exit 1; }

deb: $(DEB)

clean:
	rm -rf build build-asan build-fuzz

$(LIB): $(call obj,$(LIB_SRC))
	@rm -f $@
	$(call QUIET,AR)$(AR) rcs $@ $^

$(DISK): $(call obj,$(DISK_SRC)) $(LIB)
	$(call QUIET,LD)$(LINK) -o $@ $^ $(PKG_LIBS)

# It shows progress and pictures as wubi-disk does.
$(INSTALL): $(call obj,$(INSTALL_SRC) installer/progress_tty.c installer/output_text.c) $(LIB)
	$(call QUIET,LD)$(LINK) -o $@ $^ $(PKG_LIBS)

$(PROFILE): $(call obj,$(PROFILE_SRC)) $(LIB)
	$(call QUIET,LD)$(LINK) -o $@ $^ $(PKG_LIBS)

# wubi-NAME is made of wubi-NAME.c and NAME_*.c, with _ for - in NAME.
define hook_program
$(BUILD)/wubi-$(1): $(call obj,initramfs-hook/wubi-$(1).c $(sort $(wildcard initramfs-hook/$(subst -,_,$(1))_*.c))) $(LIB)
	$$(call QUIET,LD)$$(LINK) -o $$@ $$^ $$(PKG_LIBS)
endef
$(foreach program,$(HOOKS),$(eval $(call hook_program,$(patsubst $(BUILD)/wubi-%,%,$(program)))))

$(UNIT): $(BUILD)/%: $(BUILD)/%.o $(LIB)
	$(call QUIET,LD)$(LINK) -o $@ $^ -lcmocka $(PKG_LIBS)

$(TOOLS): $(BUILD)/%: $(BUILD)/%.o $(LIB)
	$(call QUIET,LD)$(LINK) -o $@ $^ $(PKG_LIBS)

# Only our own objects are wrapped, not the libraries: the archive's members are linked one by one.
$(ALLOC): $(call obj,$(ALLOC_SRC) $(DISK_SRC)) $(LIB)
	$(call QUIET,LD)$(LINK) $(WRAPPED:%=-Wl,--wrap=%) -o $@ $^ $(PKG_LIBS)

# In the guest they are $WUBI_BUILD/tests/NAME.
$(VM_TOOLS): $(BUILD)/tests/%: $(BUILD)/tests/vm/%.o $(LIB)
	$(call QUIET,LD)$(LINK) -o $@ $^ $(PKG_LIBS)

$(REPLAYS): $(BUILD)/%: $(BUILD)/%.o $(call obj,$(REPLAY_SRC)) $(LIB)
	$(call QUIET,LD)$(LINK) -o $@ $^ $(PKG_LIBS)

# A library to preload runs inside other people's programs: never sanitized.
$(PRELOADS): $(BUILD)/%.so: %.c
	@mkdir -p $(@D)
	$(call QUIET,CC)$(CC) $(BASE_FLAGS) $(WARNINGS) -MMD -MP -O2 -g -fPIC -shared -o $@ $< -ldl

$(BUILD)/tests/fuzz/%-fuzzer: $(BUILD)/tests/fuzz/%.o $(LIB)
	$(call QUIET,LD)$(LINK) -fsanitize=fuzzer -o $@ $^ $(PKG_LIBS)

$(BUILD)/%.o: %.c VERSION Makefile
	@mkdir -p $(@D)
	@pkg-config --exists $(PKGS) || { echo "libraries are missing: run 'make deps'" >&2; exit 1; }
	$(call QUIET,CC)$(COMPILE) -c -o $@ $<

.SECONDARY: $(ALL_OBJ)
-include $(ALL_OBJ:.o=.d) $(PRELOADS:.so=.d)
