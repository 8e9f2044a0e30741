# A stranger's device offers the payment service, answers with nonsense, says everything back, and hangs up as it likes, charge
# after charge. It costs nobody a payment, and the terminal nothing.
# Limit: 150 s
# Part: rest
# Needs: Sources/Terminal/Tap Sources/till-sandbox/TapCommand.swift Sources/till-radio-check

# Drawing takes an emulated processor longer than all the rest, and it is not what is looked at here.
screen_sink=none
shop_up 3

payment_service=7d2b0001-5c1e-4f0a-9b6d-3a8e41f7c2d9
stranger_serves() {
    background stranger till-radio-check serve --adapter hci2 --service $payment_service
    within 15 serving stranger && runs stranger
}
required "A stranger's device offers the payment service" stranger_serves

# What hangs up is there before it is needed: a link that is cut before it says anything is another one than one that is cut later.
stranger_can_hang_up() {
    mkfifo /tmp/stranger.keys
    background hangs_up bash -c 'exec bluetoothctl <>/tmp/stranger.keys'
    within 10 grep -aq 'Agent registered' "$RIG_LOGS/hangs_up.log" && echo "select $(address_of hci2)" >/tmp/stranger.keys
}
hang_up_always() { while sleep 0.3; do echo "disconnect $1"; done >/tmp/stranger.keys; }
required "It can hang up" stranger_can_hang_up
terminal_address=$(address_of hci0)
resident() { sed -n 's/^VmRSS:[[:space:]]*\([0-9]*\).*/\1/p' "/proc/$(pid terminal)/status"; }
tries() { grep -c 'a phone was not asked' "$RIG_LOGS/terminal.log"; }
more_tries_than() { (($(tries) > $1)) || { echo "$(tries)" && return 1; }; }
charge_says() { equal "$(charge_now | jq -c '[.state, .amountMinor, .totalMinor, .refused, .late]')" "[\"$1\",$2,$2,false,false]"; }

# Each round another amount, and at least one try at the stranger before anybody pays.
round() {
    local number=$1 how=$2 amount=$((1000 + $1)) before status=0
    before=$(tries)
    [ "$how" != cut ] || background hanging_up hang_up_always "$terminal_address"
    charge "10.$((number / 10))$((number % 10))" && within 20 more_tries_than "$before" && charge_says requiresAction $amount || return 1
    case $how in
        phone) phone_taps "phone$number" hci1 --once && phone_ends "phone$number" 0 || status=1 ;;
        *) customer_pays "$(announced charge link)" || status=1 ;;
    esac
    [ "$how" != cut ] || finish hanging_up
    [ $status = 0 ] && within 10 charge_says succeeded $amount || return 1
    echo "round $number: $(resident) kB, $(tries) tries, bluetoothd has ended $(daemon_ends) times" |
        tee -a "$RIG_LOGS/memory.log"
}
for number in 1 2 3 4 5 6 7 8 9 10; do
    case $number in
        1 | 5 | 9) required "Round $number is paid by QR code while it hangs up" round $number cut ;;
        2 | 6 | 10) required "Round $number is paid by an honest phone while it answers with nonsense" round $number phone ;;
        *) required "Round $number is paid by QR code while it answers with nonsense" round $number code ;;
    esac
    case $number in 2) early=$(resident) ;; 6) middle=$(resident) ;; 10) late=$(resident) ;; esac
done

promise "The terminal has $late kB after ten rounds, and had $early kB after two: less than 6 MB more" eval '((late - early < 6144))'
promise "After six it had $middle kB: less than 2 MB more" eval '((late - middle < 2048))'
has_been_a_nuisance() {
    local said cuts
    said=$(grep -c '^read' "$RIG_LOGS/stranger.log")
    cuts=$(grep -ac 'Successful disconnected' "$RIG_LOGS/hangs_up.log")
    echo "$said answers, $cuts cuts, $(tries) tries"
    ((said >= 5 && cuts >= 5))
}
promise "The stranger's device answered and hung up, five times at least each" has_been_a_nuisance
promise "The acquirer's books hold the three by phone" booked COMPLETED 3
promise "The gateway's hold the seven by QR code" gateway_booked succeeded 7
promise "Terminal, acquirer, gateway and phones say the same of every payment" within 10 books_agree
promise "The terminal's program was never started anew" runs terminal
promise "The page says that phones can be met" tap_light_is ready
finish stranger
promise "BlueZ keeps no device object of anybody" within 15 knows_no_device hci0
promise "Nobody ever paired" nothing_paired
