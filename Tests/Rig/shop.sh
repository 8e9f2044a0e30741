# A whole shop in the guest: gateway, terminal on the framebuffer, its owner, and customers. Sourced by lib.sh.
#
#   gateway_up [OPTIONS…]       the sandbox gateway; sets gateway_url
#   terminal_up [YAML]          `till run` with more lines of configuration; sets terminal_url; draws on screen_sink. With as_user=1
#                               it runs as the unit runs it: as a user of its own, without any right of root's
#   keypad_is_there             the terminal has found one
#   terminal_is_unprivileged    the program that runs has no such right
#   owner_claims                claims it with the code on the screen
#   owner_is_there              the same, or, after a scenario that did it, that terminal and session: a claim takes half a minute. What
#                               is about the first start says owner_claims, and `new_terminal=1` before terminal_up
#   owner_sets_up [JSON]        sets the shop up; JSON is laid over the usual settings
#   api METHOD PATH [JSON]      the web page's own API, with the owner's session
#   charge AMOUNT               opens a charge; sets charge_id
#   charge_is STATE…            the charge is in one of these states, says the page's API
#   announced EVENT FIELD       what the screen showed last of that kind

state=/tmp/shop
merchant_id=mrch_rig
gateway_key=wcp_0011223344556677
control_token=rig-control
owner_password='correct horse battery'
owned=/rig/owned

gateway_up() {
    mkdir -p $state
    till-sandbox gateway --port 0 --merchant $merchant_id --api-key $gateway_key --control-token $control_token "$@" \
        >$state/gateway.json 2>>"$RIG_LOGS/gateway.log" 9>&- &
    process_of[gateway]=$!
    within 20 eval "grep -q '\"ready\":true' $state/gateway.json || ! runs gateway" && runs gateway || {
        tail -n 1 "$RIG_LOGS/gateway.log"
        return 1
    }
    gateway_url=$(jq -r .url <$state/gateway.json)
}
gateway_control() { curl -sf --max-time 60 -H "Authorization: Bearer $control_token" "$gateway_url/control/$1" "${@:2}"; }

terminal_up() {
    mkdir -p $state
    if [ -e $owned ] && [ -z "${new_terminal:-}" ] && [ ! -e $state/terminal ]; then
        cp -rT $owned $state
        csrf=$(<$state/csrf)
    fi
    cat >$state/till.yaml <<YAML
state: $state/terminal
web:
  address: 0.0.0.0
  port: $RIG_PORT
  names: [localhost, 127.0.0.1]
  pages: $rig/Public
screen:
  sink: ${screen_sink:-framebuffer}
gateway:
  allowLoopbackHTTP: true
log:
  level: ${log_level:-debug}
${1:-}
YAML
    cp $state/till.yaml "$RIG_LOGS/till.yaml"
    terminal_starts
}
terminal_starts() {
    rm -f $state/terminal.json
    terminal_log_was=$(cat "$RIG_LOGS/terminal.log" 2>/dev/null | wc -l)
    unprivileged=()
    [ -z "${as_user:-}" ] || user_is_let_in || return 1
    background terminal "${unprivileged[@]}" till run --config $state/till.yaml --announce $state/terminal.json
    terminal_url=https://localhost:$RIG_PORT
    within 20 eval "grep -q '\"event\":\"listening\"' $state/terminal.json || ! runs terminal" && runs terminal
}
# Of what ran before, the log says nothing of now.
keypad_is_there() { tail -n +$((terminal_log_was + 1)) "$RIG_LOGS/terminal.log" | grep -q "a keypad is there"; }
# What the unit gives its user, and udev the groups that it names. There is no udev here.
unit_says() { sed -n "s/^$1=//p" $rig/config/systemd/till.service; }
user_is_let_in() {
    local user
    user=$(unit_says User)
    chgrp video /dev/fb0 && chgrp input /dev/input/* && chmod 660 /dev/fb0 /dev/input/event* || return 1
    chmod 711 $state && chmod 644 $state/till.yaml || return 1
    install -d -m 700 -o "$user" -g "$user" $state/terminal && install -m 600 -o "$user" /dev/null $state/terminal.json || return 1
    unprivileged=(setpriv --reuid "$user" --regid "$(unit_says Group)" --groups "$(unit_says SupplementaryGroups | tr ' ' ,)"
        --inh-caps=-all --ambient-caps=-all --bounding-set=-all --no-new-privs)
}
terminal_is_unprivileged() {
    local told zeros=0000000000000000
    told=$(awk '$1 ~ /^(Uid|Cap...|NoNewPrivs):$/ { printf "%s%s ", $1, $2 }' "/proc/$(pid terminal)/status")
    equal "$told" "Uid:$(id -u "$(unit_says User)") CapInh:$zeros CapPrm:$zeros CapEff:$zeros CapBnd:$zeros CapAmb:$zeros NoNewPrivs:1 "
}
announced() { jq -rn --arg event "$1" --arg field "$2" 'last(inputs | select(.event == $event)) | .[$field]' <$state/terminal.json; }

api() {
    local method=$1 path=$2 body=${3:-} answer status
    answer=$(curl -sk --max-time $((30 * RIG_PATIENCE)) -b $state/cookies -c $state/cookies -X "$method" -w '\n%{http_code}' \
        -H "Origin: $terminal_url" ${csrf:+-H "X-CSRF-Token: $csrf"} \
        ${idempotency_key:+-H "Idempotency-Key: $idempotency_key"} \
        ${body:+-H "Content-Type: application/json" -d "$body"} "$terminal_url/api/v1/$path") || {
        echo "$method $path: no answer" >&2
        return 1
    }
    status=${answer##*$'\n'}
    [[ $status == 2* ]] || {
        echo "$method $path: $answer" | tr '\n' ' ' >&2
        return 1
    }
    echo "${answer%$'\n'*}"
}

owner_claims() {
    local code session
    within 20 grep -q '"event":"claim"' $state/terminal.json || return 1
    code=$(announced claim code)
    csrf=
    session=$(api POST claim "$(jq -nc --arg code "$code" --arg password "$owner_password" '{code: $code, password: $password}')") ||
        return 1
    csrf=$(jq -r .csrfToken <<<"$session")
}

owner_is_there() {
    [ ! -e $state/csrf ] || { api GET settings >/dev/null; return; }
    owner_claims || return 1
    # Kept for the scenarios that follow, at rest: nothing writes into it meanwhile.
    [ "$(wc -l </mnt/rig/plan)" -gt 1 ] || return 0
    finish terminal
    echo "$csrf" >$state/csrf
    rm -rf $owned.new
    mkdir $owned.new && cp -r $state/{terminal,cookies,csrf} $owned.new && mv -T $owned.new $owned && terminal_starts
}

owner_sets_up() {
    local settings
    settings=$(jq -nc --arg merchant $merchant_id --arg url "$gateway_url" --arg key $gateway_key --argjson more "${1:-{\}}" '{
        operatorID: "op-rig", merchantID: $merchant, merchantName: "Café Morgenrot", gatewayURL: $url, gatewayKey: $key,
        currency: "USD", locale: "en-US" } + $more')
    api POST settings/test-connection "$settings" | jq -e .ok >/dev/null || return 1
    api PUT settings "$settings" >/dev/null
}

charge() {
    local idempotency_key answer
    idempotency_key=$(cat /proc/sys/kernel/random/uuid)
    answer=$(api POST charges "{\"amount\":\"$1\"}") || return 1
    charge_id=$(jq -r .id <<<"$answer")
    [ "$charge_id" != null ] || {
        echo "$answer"
        return 1
    }
}
charge_now() { api GET "charges/$charge_id" | jq -c .; }
charge_is() {
    local now wanted
    now=$(charge_now | jq -r .state) || return 1
    for wanted in "$@"; do [ "$now" != "$wanted" ] || return 0; done
    echo "it is ‘$now’"
    return 1
}
code_is_readable() { jq -en --arg id "$charge_id" 'last(inputs | select(.event == "charge" and .id == $id)) | .readable' <$state/terminal.json; }
customer_pays() { till-sandbox wallet pay --gateway "$gateway_url" --timeout 120 "$@"; }

# What a person in front of the screen sees: the text as a foreign reader reads it, and what the QR code says.
# Where the gaps are between two letters is the reader's guess: it has made ‘12. 50’ of 12.50.
screen_reads() { contains "$(host text | tr -d ' ')" "${1// /}"; }
screen_code_is() { equal "$(host qr)" "$1"; }
