/// What an app on a phone promises: C-01 to C-35.
extension Clause {
    static let client: [Clause] = [
        Clause(
            "C-01",
            demand: "Outside the native runtime no bridge command is sent, and the page is usable.",
            why: "Commands are junk globals there, and watched calls stall for 30 s.",
            faults: [
                "a global is tested instead of the user agent",
                "the start waits for an install id that never comes",
                "a tap opens a paywall that nobody shows",
            ],
            build:
                "Ask the user agent for the runtime once, before anything else; sell on the "
                + "web otherwise.",
            source: "identity rules, C-01"
        ),
        Clause(
            "C-02",
            demand:
                "The vault is asked first, then the history, then the install id; the first "
                + "usable id ends the search.",
            why:
                "The vault is the truth across phones; a history may name whoever shares the "
                + "store account.",
            faults: [
                "all sources are asked at once and the last answer wins",
                "the history is asked first",
                "the history is never asked, so that a reinstall makes a stranger",
            ],
            build: "Ask one source after the other and stop at the first id that can be used.",
            source: "identity rules, C-02"
        ),
        Clause(
            "C-03",
            demand: "A value of the vault is an id only if it can name somebody.",
            why: "Polluted vaults live through reinstalls, on every phone of the account.",
            faults: [
                "only null is refused, and 'undefined' or 'n/a' is somebody",
                "RevenueCat's list of refused ids is not looked at",
                "the value is trimmed and taken",
            ],
            build: "One function says what an id is, and every source goes through it.",
            source: "identity rules, C-03"
        ),
        Clause(
            "C-04",
            demand: "Null, nothing, an empty text and silence all mean that there is nothing.",
            why: "The package never rejects: failures are values.",
            faults: [
                "a method is called on null",
                "try and catch around a call that never throws",
                "an empty text becomes an id",
            ],
            build: "Look at the value, and go on with the next source.",
            source: "identity rules, C-04"
        ),
        Clause(
            "C-05",
            demand: "A start is over in bounded time, however silent the native side is.",
            why: "Two silent reads cost a minute by the package's own limit.",
            faults: [
                "reads wait for the package's 30 s",
                "an empty history, which is never a result, is waited for",
                "reads wait for each other without a limit of their own",
            ],
            build: "Race every read against a second or two, and go on.",
            source: "identity rules, C-05"
        ),
        Clause(
            "C-06",
            demand:
                "Of several purchases the active ones name the user, the latest first; "
                + "anonymous and sandbox ones name nobody; start and button choose alike.",
            why: "Two rules give two ids on one phone.",
            faults: [
                "the first entry wins",
                "the button has a rule of its own",
                "only the mark of anonymity is looked at, and not the id",
                "an expired entry wins because it is later",
            ],
            build: "One function chooses, for both: filter, then sort by active and by date.",
            source: "identity rules, C-06"
        ),
        Clause(
            "C-07",
            demand: "An id that came from the history is locked before it is registered.",
            why: "Money hangs on it.",
            faults: [
                "the lock is written when the backend has answered",
                "only the button locks",
                "the lock is written without waiting, behind the registration",
            ],
            build: "Write the lock in the same step that chooses the id.",
            source: "identity rules, C-07"
        ),
        Clause(
            "C-08",
            demand: "The id is in the vault before the backend is told of it.",
            why: "A crash in between would make another person at the next launch.",
            faults: [
                "registration first, vault in its answer",
                "both at once",
                "the id is made anew at each launch until one is stored",
            ],
            build: "Write, read back, then register.",
            source: "identity rules, C-08"
        ),
        Clause(
            "C-09",
            demand: "A write that matters is read back, and repeated when it was lost.",
            why: "An unwatched call is no acknowledgement.",
            faults: [
                "awaiting 'setvault' is taken for its success",
                "it is read back at the launch only",
                "it is read back and nothing follows from it",
            ],
            build:
                "Write, read, compare; a few times, then go on and try again at the next "
                + "launch.",
            source: "identity rules, C-09"
        ),
        Clause(
            "C-10",
            demand:
                "Every launch, login, logout and restore ends with the alias of the id that it "
                + "ends with.",
            why: "A stale alias sends pushes to the wrong person.",
            faults: [
                "only the launch tells the push service",
                "the id of before is told",
                "what cannot be used is told as an empty alias",
            ],
            build: "One function changes the id and tells vault, alias and backend, each time.",
            source: "identity rules, C-10"
        ),
        Clause(
            "C-11",
            demand: "Vault, alias and the last acknowledged registration carry one id.",
            why: "The backend has to know the id before it is used to buy.",
            faults: [
                "a login or a restore registers nobody",
                "a retry that was waiting registers who has logged out meanwhile",
                "each place has its own copy of the id",
            ],
            build:
                "One function changes the id; whatever waits asks it for the current one "
                + "before it acts.",
            source: "identity rules, C-11"
        ),
        Clause(
            "C-12",
            demand: "A registration counts when a 2xx names the id.",
            why: "'fetch' resolves on 4xx and 5xx.",
            faults: [
                "any answer counts",
                "the id in the answer is not compared",
                "a catch sets the flag",
            ],
            build: "Set the flag in one place, after status and id were compared.",
            source: "identity rules, C-12"
        ),
        Clause(
            "C-13",
            demand:
                "What failed is tried again with growing pauses, once for each id, and at the "
                + "next launch.",
            why:
                "A queue that is never drained loses the user; one that is drained twice tells "
                + "everybody twice.",
            faults: [
                "a queue is written and never read",
                "the whole queue is sent, old ids with it",
                "retries come at one distance, or without any",
                "the retry of the last launch and that of this one both run",
            ],
            build:
                "Keep the one id that counts; double the pause each time; stop when it is "
                + "acknowledged.",
            source: "identity rules, C-13"
        ),
        Clause(
            "C-14",
            demand: "Every registration names id, device, platform and source.",
            why: "A missing platform erases what is stored; a missing device is refused.",
            faults: [
                "one of several calls forgets a field",
                "what is not Android is called iOS",
                "an iPad in desktop mode is a Mac",
            ],
            build: "One function makes the body, for all callers.",
            source: "identity rules, C-14"
        ),
        Clause(
            "C-15",
            demand:
                "The device is the install id for as long as the app is installed; what is "
                + "missing is waited for.",
            why: "A text like 'undefined' is one device for everybody.",
            faults: [
                "the id is put into a text before it is there",
                "a random one stands in for it",
                "each launch makes one",
            ],
            build:
                "Wait for the runtime to put it there, ask with 'get-uuid://', and say so when "
                + "neither comes.",
            source: "identity rules, C-15"
        ),
        Clause(
            "C-16",
            demand: "A paywall opens for an id that was registered, and for nobody else.",
            why: "What an unknown id buys belongs to nobody.",
            faults: [
                "a flag says 'ready', and not for whom",
                "a failed registration counts",
                "the button is there before the start is over",
            ],
            build:
                "Compare the current id with the last acknowledged one when the button is "
                + "tapped.",
            source: "identity rules, C-16"
        ),
        Clause(
            "C-17",
            demand: "A paywall names the id that vault, alias and backend have at that moment.",
            why: "One purchase, one person.",
            faults: [
                "the id was read when the page was built",
                "the install id is used to buy",
                "memory keeps the id of before a logout",
            ],
            build: "Ask the one place that knows, at the tap.",
            source: "identity rules, C-17"
        ),
        Clause(
            "C-18",
            demand: "No paywall while a login, logout or restore goes on.",
            why: "It would carry who was there before.",
            faults: [
                "only the start is waited for",
                "the gate opens when the id has changed, and not when it is registered",
                "the tap is kept and carried out in the middle",
            ],
            build: "One flag over the whole change, from the tap to the acknowledged registration.",
            source: "identity rules, C-18"
        ),
        Clause(
            "C-19",
            demand: "One paywall at a time, and another one after it was closed.",
            why: "Two taps are one wish; a cancel is no farewell.",
            faults: [
                "the button works again as soon as the command is sent",
                "the flag falls only when something was bought, so that a cancel ends all selling",
            ],
            build:
                "Raise the flag at the tap, and lower it at every end: bought, cancelled, "
                + "failed, page visible again.",
            source: "identity rules, C-19"
        ),
        Clause(
            "C-20",
            demand: "Waiting to be ready ends, and the page says so.",
            why: "A spinner for ever is a lost customer.",
            faults: [
                "a loop waits for a flag that a failure never sets",
                "a call without a time limit",
            ],
            build: "Give every wait an end, and show what failed.",
            source: "identity rules, C-20"
        ),
        Clause(
            "C-21",
            demand: "Every part of a command is percent-encoded, once.",
            why: "'&', '#', '%' and '+' change what the command says.",
            faults: [
                "ids are put in as they are",
                "encoded in one place and again in another",
                "'encodeURI' instead of 'encodeURIComponent'",
                "one of the commands is forgotten",
            ],
            build: "One function makes commands from names and values, and encodes there only.",
            source: "identity rules, C-21"
        ),
        Clause(
            "C-22",
            demand: "What was written is what is read, whether the native side decodes or not.",
            why: "An id that is encoded anew at each launch grows and is somebody else each time.",
            faults: [
                "the value is decoded always, or never",
                "what was read is written again, encoded twice",
            ],
            build: "Compare with both forms of what was written.",
            source: "identity rules, C-22"
        ),
        Clause(
            "C-23",
            demand: "A purchase callback leads to a question to the backend, which alone unlocks.",
            why: "The callback comes before the webhook, and anybody can call it from the console.",
            faults: [
                "the callback unlocks",
                "the answer of the callback is believed",
                "the backend is asked once, too early, and never again",
            ],
            build: "Ask the backend a few times after the callback; show what it says.",
            source: "identity rules, C-23"
        ),
        Clause(
            "C-24",
            demand: "Callbacks are there before a paywall opens, and bear any argument.",
            why: "The runtime calls them blindly, with nothing, an object or a text.",
            faults: [
                "installed when the paywall opens, or by a part of the page that is not loaded",
                "a member of an argument that is not there is read",
                "only one of the names is known",
            ],
            build: "Install them with the first script; look at the argument before it is used.",
            source: "identity rules, C-24"
        ),
        Clause(
            "C-25",
            demand:
                "Without an answer the subscription is unknown, and not over; the product is "
                + "found under either name.",
            why: "A timeout looks like an empty history.",
            faults: [
                "no entry means 'free'",
                "only one of the field's names is read",
            ],
            build: "Three states: active, none, unknown; silence is the third.",
            source: "identity rules, C-25"
        ),
        Clause(
            "C-26",
            demand:
                "A restore that finds nothing changes nothing, and it replaces nobody's "
                + "account in silence.",
            why: "The store account may be somebody else's.",
            faults: [
                "nothing found makes a new id",
                "the found id replaces the account's",
            ],
            build: "Act only on an id that was found; ask before it replaces who is signed in.",
            source: "identity rules, C-26"
        ),
        Clause(
            "C-27",
            demand:
                "A login tells the current id; a login that failed, or whose answer names "
                + "nobody, changes nothing.",
            why: "A switch that is half done is the worst of both.",
            faults: [
                "the install id is told instead",
                "the answer is used before its status is looked at",
                "a missing id in the answer is stored as 'undefined'",
            ],
            build: "Look at the status, look at the id, and only then begin to change.",
            source: "identity rules, C-27"
        ),
        Clause(
            "C-28",
            demand:
                "After a login the returned id is stored, aliased and registered before "
                + "anybody can buy with it; a cut is made up for.",
            why: "Between the steps there are two persons on one phone.",
            faults: [
                "memory changes first",
                "the intention is not written down",
                "the launch believes what the page kept more than the vault",
            ],
            build:
                "Write down whom it is to become, do the steps, and finish them at the next "
                + "launch.",
            source: "identity rules, C-28"
        ),
        Clause(
            "C-29",
            demand: "A locked id is given up only by decision.",
            why: "The lock says that money hangs on it.",
            faults: [
                "the lock is written and never read",
                "it is read when the id has already changed",
                "it can never be given up",
            ],
            build: "Read the lock before a login replaces the id, and ask.",
            source: "identity rules, C-29"
        ),
        Clause(
            "C-30",
            demand:
                "A logout opens the lock, then makes up an id that nobody can guess; nothing "
                + "of the one before stays.",
            why: "A shared phone is two people.",
            faults: [
                "the new id is the install id, or made of the time",
                "the lock stays, or falls after the id was written",
                "what was unlocked stays visible",
            ],
            build: "Unlock, take a random UUID, write, alias, register; forget access and account.",
            source: "identity rules, C-30"
        ),
        Clause(
            "C-31",
            demand: "A lost entry of the vault does not bring back who has logged out.",
            why: "The install id was claimed by an account.",
            faults: [
                "without a vault the install id is taken again",
                "what has been given up is not remembered",
            ],
            build: "Remember that the install id was given up, and make up another.",
            source: "identity rules, C-31"
        ),
        Clause(
            "C-32",
            demand:
                "When the registration of a logout fails, everybody on the phone still has the "
                + "new id, and a retry waits.",
            why: "Otherwise memory has one person and the vault another.",
            faults: [
                "memory changes only when the backend has answered",
                "the failure puts the old id back",
            ],
            build:
                "Change all local places first; the registration is one of the things that may "
                + "come later.",
            source: "identity rules, C-32"
        ),
        Clause(
            "C-33",
            demand: "A page finds out once who its user is, however often it is started.",
            why: "Reads of one name share one reply.",
            faults: [
                "a component that mounts twice starts twice",
                "a second page makes up an id of its own",
                "a flag of an unfinished start blocks the next one",
            ],
            build:
                "One promise for the start, kept by the module; whoever starts gets the same "
                + "one.",
            source: "identity rules, C-33"
        ),
        Clause(
            "C-34",
            demand: "Reads of one key wait for each other, and a late reply changes nobody.",
            why: "Replies carry no number.",
            faults: [
                "two parts of the page read the same key at once",
                "a reply that nobody waits for any more is believed",
            ],
            build: "A queue for reads; an answer counts only while somebody waits for it.",
            source: "identity rules, C-34"
        ),
        Clause(
            "C-35",
            demand: "Nothing private lies in the open vault, and no key is a name of the window.",
            why: "Replies become globals.",
            faults: [
                "the account's address or token is kept beside the id",
                "a key called 'name' or 'status'",
            ],
            build:
                "Ids and the lock in the open, the rest locked or not at all; keys with a "
                + "prefix.",
            source: "identity rules, C-35"
        ),
    ]
}
