# What terminal, acquirer, gateway and phones say of the same payments: one line for each point on which they differ, none where
# they agree. books_agree (tap.sh) calls it with $terminal (its history), $acquirer, $gateway (their books) and $phones.

def differ($what; $terminal; $other):
    if ($terminal | sort) == ($other | sort) then empty
    else "\($what) ‘\($other | sort | tojson)’, and the terminal ‘\($terminal | sort | tojson)’" end;
# 3 and 6 are "completed" and "taken offline" of the profile.
def paid: .memory | [(.state | select(.status == 3 or .status == 6)), (.closed[] | select(.as == "3" or .as == "6"))] | map(.payment);
def paid_at($authority): [.[] | select(.state == "succeeded" and .confirmedBy == $authority)];

$terminal[0].charges as $charges
| ($charges | paid_at("acquirer")) as $tapped
| ($charges | paid_at("gateway")) as $scanned
| [$charges[] | select(.open)] as $open
| [$phones[] | .payment = (paid | first) | select(.paid or .payment)] as $paying
| (if $terminal[0].next then "the terminal's history is longer than one page" else empty end),

# Money moved at the acquirer for exactly these, so much, and is where the terminal says that it is.
differ("the acquirer says";
    [$tapped[] | [.paymentID, .totalMinor, .currency, if .givenBack then "CANCELLED" else "COMPLETED" end]];
    [$acquirer[0].payments[] | select(any(.attempts[]; .status == "COMPLETED" or .status == "CANCELLED"))
        | [.paymentId, .total, .currency, .status]]),
# And at the gateway for exactly these.
differ("the gateway says";
    [$scanned[] | [.paymentID, .totalMinor, .currency]];
    [$gateway[0].payments[] | select(.status == "succeeded")
        | [.paymentId, (.amount.value | tonumber), (.amount.unit | ltrimstr("iso4217/"))]]),
# Nothing can still be paid for a charge that is over.
($acquirer[0].payments[] | select(.status == "IN_PROGRESS" or .status == "ACCEPTED_OFFLINE")
    | "\(.paymentId) is \(.status) at the acquirer"),
(([$gateway[0].payments[] | select(.status == "requires_action" or .status == "processing") | .referenceId]
    - [$open[].id | gsub("-"; "")])[] | "the code of \(.) can still be paid, and the charge is over"),
($charges[] | select(.surplusMinor != 0 or .late) | "\(.id) was paid twice, or after its end"),
# Each payment by phone is one phone's, which says the same of it; a wallet's is the gateway's, under a name of its own.
differ("the phones say";
    [$tapped[] | [.paymentID, "\(.totalMinor) \(.currency)"]];
    [$paying[] | select(.wallet | not) | [.payment, if .paid then .total else "nothing" end]]),
(([$paying[] | select(.wallet) | .total] - [$scanned[] | "\(.totalMinor) \(.currency)"])[]
    | "a wallet says that it paid \(.), and the terminal does not know of it")
