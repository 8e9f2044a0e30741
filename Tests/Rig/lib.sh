# The words that scenarios are written in. Runs in the guest, in bash; fd 9 is the line to the host.
#
#   promise SENTENCE COMMAND…   says whether COMMAND succeeded; when not, its last line of output says what was wrong
#   required SENTENCE COMMAND…  the same; the scenario ends when it is not kept
#   within SECONDS COMMAND…     COMMAND again and again until it succeeds; SECONDS are multiplied by the rig's patience
#   never SECONDS COMMAND…      COMMAND does not succeed during so many seconds (not multiplied)
#   host ASK…                   what only the host can see or do, see Tests/Rig/host.py; prints its answer
#   background NAME COMMAND…    starts a program with a log of that name; `pid NAME` says its process

rig=/mnt/rig
export PATH=$rig/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8
umask 077

notes_told=0
promise() {
    local sentence=$1 begun=$EPOCHREALTIME detail kept=1
    shift
    "$@" >/tmp/said 2>&1 || kept=0
    # What the keeper of bluetoothd has to tell the host.
    grep -a "^note " "$RIG_LOGS/daemon_kept.log" 2>/dev/null | tail -n +$((notes_told + 1)) | tee /tmp/notes >&9
    notes_told=$((notes_told + $(wc -l </tmp/notes)))
    if [ $kept = 1 ]; then
        echo "ok $(seconds_since "$begun") $sentence" >&9
        return 0
    fi
    cat /tmp/said
    busybox ps -o pid,stat,args >"$RIG_LOGS/processes-at-${sentence//[^A-Za-z]/-}.txt"
    detail=$(grep -v '^[[:space:]]*$' /tmp/said | tail -n 1 | cut -c 1-300)
    echo "FAILED $sentence: ${detail:-no more was said}" >&9
    return 1
}

required() { promise "$@" || exit 0; }

seconds_since() { awk "BEGIN { printf \"%.2f\", $EPOCHREALTIME - $1 }"; }

within() {
    local limit=$(($1 * RIG_PATIENCE)) end said
    shift
    end=$((SECONDS + limit))
    until said=$("$@" 2>&1); do
        if ((SECONDS >= end)); then
            echo "not within $limit s: $* ${said:+(it said: $(tail -n 1 <<<"$said"))}"
            return 1
        fi
        sleep 0.2
    done
}

never() {
    local end=$((SECONDS + $1))
    shift
    while ((SECONDS < end)); do
        if "$@" >/dev/null 2>&1; then
            echo "it happened: $*"
            return 1
        fi
        sleep 0.5
    done
}

host() {
    local answer
    echo "ask $*" >&9
    IFS= read -r -t $((60 * RIG_PATIENCE)) answer <&9 || {
        echo "the host does not answer" >&2
        return 1
    }
    [[ $answer == answer* ]] || {
        echo "${answer#refused }" >&2
        return 1
    }
    echo "${answer#answer }"
}

declare -A process_of
background() {
    local name=$1
    shift
    "$@" >>"$RIG_LOGS/$name.log" 2>&1 9>&- &
    process_of[$name]=$!
}
# Somebody else keeps bluetoothd, and says which process it is now.
pid() { cat "/run/$1.process" 2>/dev/null || echo "${process_of[$1]}"; }
runs() { kill -0 "$(pid "$1")" 2>/dev/null || {
    echo "$1 has ended: $(tail -n 1 "$RIG_LOGS/$1.log")"
    return 1
}; }
# Ends one of them and waits for it; a second argument names another signal than TERM.
finish() {
    local process
    process=$(pid "$1")
    rm -f "/run/$1.process"
    kill -"${2:-TERM}" "$process" 2>/dev/null
    # A process that another one started cannot be waited for.
    wait "$process" 2>/dev/null || while kill -0 "$process" 2>/dev/null; do sleep 0.05; done
    return 0
}
equal() { [ "$1" = "$2" ] || {
    echo "‘$1’ instead of ‘$2’"
    return 1
}; }
contains() { [[ $1 == *"$2"* ]] || {
    echo "‘$2’ is not in ‘$1’"
    return 1
}; }

. $rig/tests/radio.sh
. $rig/tests/shop.sh
. $rig/tests/tap.sh
