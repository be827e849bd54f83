#!/bin/sh
# fetch.sh DIR unpacks the current MySQL and PostgreSQL of Debian's suite sid into the folder DIR, with every library
# that they need, and leaves the machine's own packages alone. It runs as any user, on the mirror that apt is set up for.
#
# apt checks the suite's signature against Debian's keyring, and each package against the signed index. The file sums,
# beside this script, has what was tested last: a package of the same name has to be the same file. The suite moves on,
# so a newer version is taken, and printed.
set -eu

dir=$1
sums=$(cd "$(dirname "$0")" && pwd)/sums
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

for program in apt-get dpkg-deb; do
	command -v $program >/dev/null || { echo "no $program on this machine, want Debian or a relative"; exit 1; }
done
[ -r $keyring ] || { echo "no $keyring, want the package debian-archive-keyring"; exit 1; }
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | grep '/debian/*$' | head -n 1)
[ -n "$mirror" ] || { echo "apt is set up for no mirror of Debian"; exit 1; }

mkdir -p "$(dirname "$dir")"
new=$(mktemp -d "$dir.XXXXXX")
trap 'rm -rf "$new"' EXIT

# An apt of its own, which knows of no installed package and so brings the C library too.
mkdir -p "$new/apt/lists/partial" "$new/apt/archives/partial" "$new/apt/none" "$new/root"
: >"$new/apt/status"
echo "deb [signed-by=$keyring] $mirror sid main" >"$new/apt/sources.list"
apt() {
	apt-get -q -y -o Dir::State="$new/apt" -o Dir::State::status="$new/apt/status" -o Dir::Cache="$new/apt" \
		-o Dir::Etc::sourcelist="$new/apt/sources.list" -o Dir::Etc::sourceparts="$new/apt/none" \
		-o Dir::Etc::preferencesparts="$new/apt/none" -o Dir::Etc::preferences="$new/apt/none/none" \
		-o Acquire::Languages=none -o Acquire::Retries=3 -o APT::Sandbox::User= -o APT::Install-Recommends=0 \
		-o APT::Update::Post-Invoke::= -o APT::Get::AllowUnauthenticated=0 "$@" >"$new/apt/log" 2>&1 ||
		{ tail -n 20 "$new/apt/log"; return 1; }
}
apt update
apt --download-only install mysql-server-core postgresql-18

# The servers and what they link; not the programs that their installation would call.
cd "$new/apt/archives"
rm -f -- perl* systemd* libperl* libsystemd-shared*
for package in lib*.deb mysql-*.deb postgresql-18_*.deb postgresql-client-18_*.deb tzdata_*.deb; do
	sum=$(sha256sum "$package")
	if ! grep -qxF "$sum" "$sums"; then
		if grep -q "  $package\$" "$sums"; then
			echo "$package is not the file that $sums names"
			exit 1
		fi
		echo "not yet in sums: $sum"
	fi
	echo "$sum" >>"$new/sums"
	dpkg-deb -x "$package" "$new/root"
done
cd "$new"
rm -rf apt root/etc root/var root/usr/bin root/usr/share/doc root/usr/share/locale root/usr/share/man

# Each program is started by the loader that came with it, because it needs a newer C library than the machine may
# have. PostgreSQL's programs start each other by name, so the scripts have the names.
loader=$(cd root && find usr -name 'ld-linux-*.so.*' | head -n 1)
libraries=$(dirname "$loader")
for program in root/usr/sbin/mysqld root/usr/lib/postgresql/18/bin/*; do
	[ "$(head -c 4 "$program" | tail -c 3)" = ELF ] || continue
	top=$(echo "$(dirname "${program#root/}")" | sed 's,[^/]*,..,g')
	mv "$program" "$program.elf"
	cat >"$program" <<-END
		#!/bin/sh
		top=\$(dirname "\$0")/$top
		exec "\$top/$loader" --argv0 "\$0" --library-path \\
			"\$top/$libraries:\$top/usr/lib/mysql/private" "\$0.elf" "\$@"
	END
	chmod 755 "$program"
done

root/usr/sbin/mysqld --version | sed 's,.*/mysqld *,MySQL ,'
root/usr/lib/postgresql/18/bin/postgres --version

# A data folder for tests to copy. Each server makes its own auto.cnf, which is its identity.
as=
[ "$(id -u)" != 0 ] || as=--user=root
root/usr/sbin/mysqld --no-defaults $as --basedir="$new/root/usr" --lc-messages-dir="$new/root/usr/share/mysql" \
	--datadir="$new/data" --initialize-insecure --skip-log-bin --innodb-doublewrite=OFF \
	--innodb-redo-log-capacity=16M >"$new/log" 2>&1 || { tail -n 20 "$new/log"; exit 1; }
rm -f log data/auto.cnf
chmod -R go+rX "$new"
rm -rf "$dir"
mv "$new" "$dir"
trap - EXIT
