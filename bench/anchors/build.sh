#!/bin/sh
# build.sh BAIDU COSID LEAF OUT: compile the three projects' generators from their checkouts, with
# the harness, into OUT. It needs a JDK 17 and, of Debian: liblombok-java libcommons-lang-java
# libcommons-io-java libslf4j-java libguava-java libspring-core-java libspring-beans-java
# libjackson2-databind-java.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
baidu=$1/src/main/java cosid=$2/cosid-core/src/main/java leaf=$3/leaf-core/src/main/java out=$4
jars=/usr/share/java
path=$jars/slf4j-api.jar:$jars/guava.jar:$jars/commons-lang-2.6.jar
path=$path:$jars/spring3-core.jar:$jars/spring3-beans.jar:$jars/commons-io.jar
path=$path:$jars/error_prone_annotations.jar:$jars/commons-logging.jar
rm -rf "$out" && mkdir -p "$out/classes"
{
	find "$here" -name '*.java'
	find "$cosid/me/ahoo/cosid" -name '*.java'
	# Of Baidu, all but the worker ids' table; of Leaf, the two generators without theirs.
	find "$baidu" -name '*.java' ! -path '*/worker/*'
	echo "$baidu/com/baidu/fsg/uid/worker/WorkerIdAssigner.java"
	find "$leaf" -name '*.java' ! -path '*/dao/impl/*' ! -name IDAllocMapper.java \
		! -name SnowflakeZookeeperHolder.java ! -name PropertyFactory.java
} >"$out/sources"
javac -nowarn -encoding UTF-8 -processorpath "$jars/lombok.jar" -cp "$path:$jars/lombok.jar" \
	-d "$out/classes" @"$out/sources"
echo "$out/classes:$path:$jars/slf4j-nop.jar" >"$out/classpath"
for d in "$1" "$2" "$3"; do git -C "$d" rev-parse HEAD 2>/dev/null || cat "$d/COMMIT"; done >"$out/commits"
