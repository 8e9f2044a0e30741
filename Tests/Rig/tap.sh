# Tap to pay in the guest: an acquirer, the terminal's tap settings, and customers' phones on the other virtual
# controllers. Sourced by lib.sh.
#
#   acquirer_up [OPTIONS…]         the sandbox acquirer; sets acquirer_url
#   owner_sets_up_tap [JSON]       switches tap to pay on; JSON is laid over the usual settings
#   tap_light_is STATE             what the page's light says: off, ready, hindered
#   phone_taps NAME hciN [OPT…]    a customer's phone; its log is NAME.log. Returns when it is on the air; it lives
#                                  for phone_seconds at most
#   phone_ends NAME STATUS…        it has ended with one of these statuses (0 paid, 1 not, 3 declined, 4 nobody asked)
#   booked STATUS N                the acquirer's books hold N payments with that status
#   gateway_booked STATUS N        the gateway's do
#   books_agree                    the terminal's history, the acquirer's and the gateway's books and the phones say the same of every
#                                  payment: which, how much, and how it ended (agree.jq)
#   shop_up N [JSON [OPTIONS…]]    all of it, with N radios: a shop that is ready for phones, as promises of its own. JSON is
#                                  laid over the tap settings, the options are the gateway's
#   phone_said NAME TEXT           the phone's log has a line that begins like this
#   page_says FIELD VALUE          the charge has that, says the page's API
#   cable_in, cable_out            the terminal's own way to the acquirer, which can be pulled out

acquirer_login=shop@example.com
acquirer_password=shop-password

acquirer_up() {
    mkdir -p $state
    till-sandbox acquirer --port 0 --merchant-login $acquirer_login:$acquirer_password --control-token $control_token "$@" \
        >$state/acquirer.json 2>>"$RIG_LOGS/acquirer.log" 9>&- &
    process_of[acquirer]=$!
    within 20 eval "grep -q '\"ready\":true' $state/acquirer.json || ! runs acquirer" && runs acquirer || {
        tail -n 1 "$RIG_LOGS/acquirer.log"
        return 1
    }
    acquirer_url=$(jq -r .url <$state/acquirer.json)
}
acquirer_control() { curl -sf --max-time 60 -H "Authorization: Bearer $control_token" "$acquirer_url/control/$1" "${@:2}"; }

# Virtual controllers know no signal strength, so the terminal takes phones from anywhere around.
owner_sets_up_tap() {
    local settings
    settings=$(jq -nc --arg url "$acquirer_url" --arg login $acquirer_login --arg password $acquirer_password \
        --arg owner "$owner_password" --argjson more "${1:-{\}}" '{ enabled: true, mode: "open", acceptUnknownSignal: true, acquirerURL: $url,
        acquirerLogin: $login, acquirerPassword: $password, terminalID: "till-rig", password: $owner } + $more')
    api PUT taps "$settings" >/dev/null
}
tap_light_is() {
    local light
    light=$(api GET taps) || return 1
    [ "$(jq -r .light.state <<<"$light")" = "$1" ] || {
        jq -c .light <<<"$light"
        return 1
    }
}

# A phone for one payment keeps what it knows of it in a file, which says the payment's name.
declare -A memory_of
phone_taps() {
    local options=("${@:3}") index
    [[ " ${options[*]} " != *" --once "* || " ${options[*]} " == *" --state "* ]] || options+=(--state "$state/phones/$1")
    for index in "${!options[@]}"; do [ "${options[index]}" != --state ] || memory_of[$1]=${options[index + 1]}; done
    mkdir -p $state/phones
    background "$1" till-sandbox wallet tap --adapter "$2" --acquirer "$acquirer_url" \
        --timeout "${phone_seconds:-$((40 * RIG_PATIENCE))}" "${options[@]}"
    # One that is back after its payment may be through with it before anybody looks here.
    within 20 eval "grep -qE '^([0-9.]+ )?Open' '$RIG_LOGS/$1.log' || ! runs $1" && phone_has_opened "$1"
}
phone_has_opened() { grep -qE '^([0-9.]+ )?Open' "$RIG_LOGS/$1.log" || runs "$1"; }
# The phone has a time limit of its own.
phone_ends() {
    local status=0 wanted
    wait "$(pid "$1")" || status=$?
    for wanted in "${@:2}"; do [ "$status" != "$wanted" ] || return 0; done
    echo "it ended with $status; its last word: $(tail -n 1 "$RIG_LOGS/$1.log")"
    return 1
}

phone_said() { grep -aq "^$2" "$RIG_LOGS/$1.log" || {
    echo "$1 did not say ‘$2’ but last: $(tail -n 1 "$RIG_LOGS/$1.log")"
    return 1
}; }
page_says() {
    local now
    now=$(charge_now) || return 1
    [ "$(jq -r --arg field "$1" '.[$field]' <<<"$now")" = "$2" ] || {
        jq -c . <<<"$now"
        return 1
    }
}

shop_up() {
    local tap=${2:-{\}}
    required "Terminal and phones have radios" radio_up "$1"
    required "The sandbox gateway starts" gateway_up --settle-after 1 "${@:3}"
    required "The sandbox acquirer starts" acquirer_up
    required "The terminal starts" terminal_up $'bluetooth:\n  adapter: hci0'
    required "The owner is there" owner_is_there
    required "The owner sets the shop up" owner_sets_up
    required "The owner switches tap to pay on" owner_sets_up_tap "$tap"
    required "The terminal is ready for phones" within 20 tap_light_is ready
}

# A program in between, so that phones keep their own way. Pulled out, it cuts what goes through it.
cable_url=http://127.0.0.1:4030
cable_in() {
    setsid busybox nc -ll -p 4030 -e busybox nc 127.0.0.1 "${acquirer_url##*:}" 2>>"$RIG_LOGS/cable.log" 9>&- &
    process_of[cable]=$!
    within 5 curl -s --max-time 5 -o /dev/null "$cable_url/keys"
}
cable_out() { kill -KILL -- "-$(pid cable)"; }

booked() {
    acquirer_control payments >"$RIG_LOGS/acquirer-payments.json" || return 1
    equal "$(jq --arg status "$1" '[.payments[] | select(.status == $status)] | length' <"$RIG_LOGS/acquirer-payments.json")" "$2"
}
gateway_booked() {
    gateway_control payments >"$RIG_LOGS/gateway-payments.json" || return 1
    equal "$(jq --arg status "$1" '[.. | objects | select(.status? == $status)] | length' <"$RIG_LOGS/gateway-payments.json")" "$2"
}

# What each phone told its owner, and what it remembers. One that was switched on again is the same phone.
phones_say() {
    local memory name logs words remembered paid wallet total
    for memory in $(printf '%s\n' "${memory_of[@]}" | sort -u); do
        logs=() paid=false wallet=false total=
        for name in "${!memory_of[@]}"; do [ "${memory_of[$name]}" != "$memory" ] || logs+=("$RIG_LOGS/$name.log"); done
        words=$'\n'$(cat "${logs[@]}")
        [[ $words != *$'\nEnded     paid'* ]] || paid=true
        [[ $words != *$'\nSigning '* ]] || wallet=true
        # 0.50 USD is 50.
        [[ ! $words =~ .*$'\nAccepted  '([0-9]+)\.?([0-9]*)\ ([A-Z]+) ]] ||
            total="$((10#${BASH_REMATCH[1]}${BASH_REMATCH[2]})) ${BASH_REMATCH[3]}"
        remembered=$(<"$memory")
        # Behind a checksum.
        printf '{"paid":%s,"wallet":%s,"total":"%s","memory":%s}\n' $paid $wallet "$total" "${remembered#* }"
    done
}
books_agree() {
    local said
    api GET 'charges?limit=100' >"$RIG_LOGS/history.json" || return 1
    acquirer_control payments >"$RIG_LOGS/acquirer-payments.json" || return 1
    gateway_control payments >"$RIG_LOGS/gateway-payments.json" || return 1
    phones_say >"$RIG_LOGS/phones.json" || return 1
    said=$(jq -rn --slurpfile terminal "$RIG_LOGS/history.json" --slurpfile acquirer "$RIG_LOGS/acquirer-payments.json" \
        --slurpfile gateway "$RIG_LOGS/gateway-payments.json" --slurpfile phones "$RIG_LOGS/phones.json" \
        -f $rig/tests/agree.jq 2>&1 | tr '\n' ';') && equal "$said" ""
}
