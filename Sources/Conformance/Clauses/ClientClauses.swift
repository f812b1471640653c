/// The clauses for an app on a phone: C-01 to C-35.
extension Clause {
    static let client: [Clause] = [
        Clause(
            "C-01",
            requirement:
                "In a browser without the native runtime, the page is usable and sends no bridge "
                + "command.",
            rationale:
                "In a browser a command only sets a useless global variable, and a call that "
                + "waits for a reply stalls for 30 s.",
            faults: [
                "a global variable is tested instead of the user agent",
                "the start waits for an install id that never comes",
                "a tap requests a paywall that the browser cannot show",
            ],
            correctDesign:
                "Check once, before anything else, whether the user agent names the runtime; if "
                + "it does not, sell on the web.",
            source: "identity rules, C-01"
        ),
        Clause(
            "C-02",
            requirement:
                "At the start the app reads the vault first, then the purchase history, then "
                + "the install id; the first usable id ends the search.",
            rationale:
                "The vault follows the user across phones; the history may name another person "
                + "who shares the store account.",
            faults: [
                "all sources are read at once and the last reply wins",
                "the purchase history is read first",
                "the purchase history is never read, so that a reinstall creates a new user",
            ],
            correctDesign:
                "Read vault, history and install id one after the other, and stop at the first "
                + "usable id.",
            source: "identity rules, C-02"
        ),
        Clause(
            "C-03",
            requirement:
                "The app uses a value from the vault as an id only if it can identify a user.",
            rationale:
                "An invalid value in the vault survives reinstalls, on every phone of the store "
                + "account.",
            faults: [
                "only null is refused, and 'undefined' or 'n/a' becomes a user",
                "RevenueCat's list of blocked ids is not checked",
                "spaces around the value are removed, and the rest is used",
            ],
            correctDesign:
                "Validate ids in one function, and pass the id of every source through it.",
            source: "identity rules, C-03"
        ),
        Clause(
            "C-04",
            requirement:
                "Null, undefined, an empty string and a missing reply all mean that there is no "
                + "value.",
            rationale:
                "The bridge's JavaScript package never rejects a promise: it returns failures as "
                + "values.",
            faults: [
                "a method is called on null",
                "try and catch surround a call that never throws",
                "an empty string becomes an id",
            ],
            correctDesign:
                "Check every value that the bridge returns; when there is none, continue with the "
                + "next source.",
            source: "identity rules, C-04"
        ),
        Clause(
            "C-05",
            requirement:
                "The app's start ends within a bounded time, even if the native side never "
                + "replies.",
            rationale:
                "With the bridge package's own limit of 30 s, two reads without a reply take a "
                + "minute.",
            faults: [
                "reads wait for the bridge package's limit of 30 s",
                "the app waits for an empty purchase history, which never arrives as a result",
                "each read waits for the one before it, and none has a shorter limit",
            ],
            correctDesign:
                "Limit every read to a second or two, and then continue without the reply.",
            source: "identity rules, C-05"
        ),
        Clause(
            "C-06",
            requirement:
                "Among several purchases, active ones identify the user before expired ones, and "
                + "later ones before earlier ones; anonymous and sandbox purchases identify no "
                + "user; the start and the restore button use the same rule.",
            rationale:
                "If the start of the app and the restore button choose the id by different rules, "
                + "one phone gets two ids.",
            faults: [
                "the first entry of the purchase history identifies the user",
                "the restore button chooses by another rule than the start",
                "only the purchase's anonymous flag is checked, and not its id",
                "an expired purchase wins over an active one because it is later",
            ],
            correctDesign:
                "Choose the purchase in one function for both the start and the restore button: "
                + "filter, then sort by active state and by date.",
            source: "identity rules, C-06"
        ),
        Clause(
            "C-07",
            requirement:
                "The app locks an id from the purchase history, with an entry in the vault, "
                + "before it registers the id.",
            rationale:
                "Paid purchases belong to this id, and the lock protects it from being replaced.",
            faults: [
                "the lock is written after the backend has answered",
                "only the restore button locks the id",
                "the lock is queued behind the registration, and the app does not wait for it",
            ],
            correctDesign: "Write the lock in the same step that chooses the id.",
            source: "identity rules, C-07"
        ),
        Clause(
            "C-08",
            requirement: "The id is in the vault before the app sends it to the backend.",
            rationale:
                "If the app crashes after a registration and before the id is stored, the next "
                + "launch creates another user.",
            faults: [
                "the app registers first and writes the vault after the response",
                "the app registers the id and writes it to the vault at the same time",
                "each launch creates a new id until one is stored",
            ],
            correctDesign: "Write the id to the vault, read it back, then register it.",
            source: "identity rules, C-08"
        ),
        Clause(
            "C-09",
            requirement:
                "The app reads back every important vault entry after writing it, and writes it "
                + "again if it was lost.",
            rationale: "The command 'setvault' gets no reply, so that sending it confirms nothing.",
            faults: [
                "awaiting 'setvault' is taken for success",
                "the value is read back only at the next launch",
                "the value is read back, but a difference has no consequence",
            ],
            correctDesign:
                "Write the value, read it back and compare; repeat this a few times, then "
                + "continue and try again at the next launch.",
            source: "identity rules, C-09"
        ),
        Clause(
            "C-10",
            requirement:
                "Every launch, login, logout and restore sets the OneSignal alias to the "
                + "resulting user id.",
            rationale: "An outdated OneSignal alias sends pushes to the wrong person.",
            faults: [
                "only the launch sets the alias",
                "the alias is set to the previous id",
                "an unusable id is sent as an empty alias",
            ],
            correctDesign:
                "Change the id in one function that updates vault, alias and backend each time.",
            source: "identity rules, C-10"
        ),
        Clause(
            "C-11",
            requirement:
                "The vault, the OneSignal alias and the last confirmed registration have the same "
                + "id.",
            rationale: "The backend must know the id before it is used for a purchase.",
            faults: [
                "a login or a restore does not register its id",
                "a pending retry registers a user who has logged out in the meantime",
                "each part of the app has its own copy of the id",
            ],
            correctDesign:
                "Change the id in one function; delayed work gets the current id from there "
                + "before it acts.",
            source: "identity rules, C-11"
        ),
        Clause(
            "C-12",
            requirement: "A registration counts only when a 2xx response contains the id.",
            rationale: "'fetch' does not throw an error for a 4xx or 5xx response.",
            faults: [
                "any response of the backend counts as a registration",
                "the id in the response is not compared with the one that was sent",
                "a catch block marks the user as registered",
            ],
            correctDesign:
                "Mark the user as registered in one place, after checking the status and the id.",
            source: "identity rules, C-12"
        ),
        Clause(
            "C-13",
            requirement:
                "A failed registration is retried with growing pauses and at the next launch; "
                + "each id is registered only once.",
            rationale:
                "If the queue of failed registrations is never sent, the user is lost; if it is "
                + "sent twice, every user is registered twice.",
            faults: [
                "failed registrations are written to a queue that is never read",
                "the whole queue of failed registrations is sent, including old ids",
                "the pause between retries is fixed, or there is none",
                "the retry of the last launch and the retry of this launch both run",
            ],
            correctDesign:
                "Keep only the current id; double the pause after each attempt; stop when the "
                + "backend confirms the id.",
            source: "identity rules, C-13"
        ),
        Clause(
            "C-14",
            requirement: "Every registration contains id, device, platform and source.",
            rationale:
                "A registration without a platform erases the stored one; a registration without "
                + "a device is refused.",
            faults: [
                "one of the app's registration calls omits a field",
                "every platform other than Android is sent as iOS",
                "an iPad in desktop mode is sent as a Mac",
            ],
            correctDesign: "Build the request body in one function, for all callers.",
            source: "identity rules, C-14"
        ),
        Clause(
            "C-15",
            requirement:
                "The app sends the install id as its device for as long as it is installed, and "
                + "waits when the install id is not available yet.",
            rationale: "A string such as 'undefined' would be one device for all users.",
            faults: [
                "the install id is inserted into a string before it is available",
                "a random id is sent instead of the install id",
                "each launch creates another device id",
            ],
            correctDesign:
                "Wait for the runtime to provide the install id, request it with 'get-uuid://', "
                + "and report an error when both fail.",
            source: "identity rules, C-15"
        ),
        Clause(
            "C-16",
            requirement: "A paywall opens only for an id that is registered at the backend.",
            rationale: "A purchase under an unknown id belongs to no user.",
            faults: [
                "a 'ready' flag does not record for which id it was set",
                "a failed registration counts as successful",
                "the upgrade button is visible before the app's start has ended",
            ],
            correctDesign:
                "When the upgrade button is tapped, compare the current id with the last "
                + "registered one.",
            source: "identity rules, C-16"
        ),
        Clause(
            "C-17",
            requirement:
                "A paywall opens for the id that vault, OneSignal alias and backend have at that "
                + "moment.",
            rationale: "A purchase must belong to the same user at every service.",
            faults: [
                "the id was read when the page was built",
                "the install id is used for the purchase",
                "the page's memory keeps the id from before a logout",
            ],
            correctDesign: "Read the id from its single source when the button is tapped.",
            source: "identity rules, C-17"
        ),
        Clause(
            "C-18",
            requirement: "No paywall opens during a login, logout or restore.",
            rationale:
                "A paywall that opens during the change would sell to the previous user's id.",
            faults: [
                "the paywall is blocked only during the app's start",
                "the paywall is allowed again when the id has changed, before the id is registered",
                "a tap on the upgrade button is queued and carried out during the change",
            ],
            correctDesign:
                "Block the paywall with one flag for the whole change of the id, from the tap to "
                + "the confirmed registration.",
            source: "identity rules, C-18"
        ),
        Clause(
            "C-19",
            requirement:
                "Only one paywall is open at a time, and another one can open after it was closed.",
            rationale:
                "A customer who taps twice wants one paywall, and a customer who cancels may come "
                + "back.",
            faults: [
                "the upgrade button works again as soon as the paywall command is sent",
                "the flag of an open paywall is cleared only after a purchase, so that a cancel "
                    + "blocks all later paywalls",
            ],
            correctDesign:
                "Set a flag when the button is tapped, and clear it at every outcome: bought, "
                + "cancelled, failed, page visible again.",
            source: "identity rules, C-19"
        ),
        Clause(
            "C-20",
            requirement:
                "Every wait for the app to become ready ends, and the page shows the result.",
            rationale: "A customer who sees an endless spinner leaves.",
            faults: [
                "a loop waits for a flag that is never set after a failure",
                "a call has no time limit",
            ],
            correctDesign: "Give every wait a time limit, and show what failed.",
            source: "identity rules, C-20"
        ),
        Clause(
            "C-21",
            requirement: "Every dynamic part of a bridge command is percent-encoded exactly once.",
            rationale: "An unencoded '&', '#', '%' or '+' changes the meaning of a bridge command.",
            faults: [
                "ids are inserted without encoding",
                "ids are encoded in one function and again in another",
                "'encodeURI' is used instead of 'encodeURIComponent'",
                "one of the commands is sent without encoding",
            ],
            correctDesign:
                "Build commands from names and values in one function, and encode only there.",
            source: "identity rules, C-21"
        ),
        Clause(
            "C-22",
            requirement:
                "The app reads the same value from the vault that it wrote, whether or not the "
                + "native side decodes it.",
            rationale:
                "An id that is percent-encoded again at each launch grows, and names another user "
                + "each time.",
            faults: [
                "the app decodes the value always, or never",
                "the app writes back the value that it read, encoded twice",
            ],
            correctDesign:
                "Compare the value that was read with both the encoded and the plain form of the "
                + "written one.",
            source: "identity rules, C-22"
        ),
        Clause(
            "C-23",
            requirement:
                "After a purchase callback the app asks the backend, and only the backend's "
                + "response unlocks access.",
            rationale:
                "The callback comes before the webhook, and anyone can call it from the browser's "
                + "console.",
            faults: [
                "the purchase callback unlocks access",
                "the result that the purchase callback receives is trusted",
                "the backend is asked once, too early, and never again",
            ],
            correctDesign:
                "Ask the backend several times after the callback, and show the access that it "
                + "returns.",
            source: "identity rules, C-23"
        ),
        Clause(
            "C-24",
            requirement:
                "The page installs its purchase callbacks before a paywall opens, and they accept "
                + "any argument.",
            rationale:
                "The runtime may call a callback without an argument, with an object or with a "
                + "string.",
            faults: [
                "callbacks are installed when the paywall opens, or by a part of the page "
                    + "that is not loaded",
                "the callback reads a property of an argument that is missing",
                "the callback is installed under only one of its names",
            ],
            correctDesign:
                "Install the callbacks in the page's first script; check the argument before "
                + "using it.",
            source: "identity rules, C-24"
        ),
        Clause(
            "C-25",
            requirement:
                "When the purchase history gets no reply, the app treats the subscription as "
                + "unknown, not as ended; it reads the product under either of its field names.",
            rationale: "A timeout looks like an empty purchase history.",
            faults: [
                "a purchase history without an entry is shown as 'free'",
                "only one of the product's field names is read",
            ],
            correctDesign:
                "Use three states of the subscription: active, none and unknown; a missing reply "
                + "means unknown.",
            source: "identity rules, C-25"
        ),
        Clause(
            "C-26",
            requirement:
                "A restore that finds nothing changes nothing, and a restore never silently "
                + "replaces the signed-in account.",
            rationale: "The store account on the phone may belong to another person.",
            faults: [
                "a restore without a result creates a new id",
                "the id that the restore found replaces the account's id",
            ],
            correctDesign:
                "Change the id only if the restore found another one, and ask the user before "
                + "that id replaces the signed-in user's id.",
            source: "identity rules, C-26"
        ),
        Clause(
            "C-27",
            requirement:
                "A login sends the current id; a login that fails, or whose response contains "
                + "no id, changes nothing.",
            rationale: "A half-finished login leaves a mixture of two users.",
            faults: [
                "the login sends the install id instead of the current id",
                "the login's response is used before its status is checked",
                "a missing id in the login's response is stored as 'undefined'",
            ],
            correctDesign:
                "Check the status and the id in the response, and only then begin to change the "
                + "user.",
            source: "identity rules, C-27"
        ),
        Clause(
            "C-28",
            requirement:
                "After a login the returned id is stored, aliased and registered before a "
                + "purchase is possible; an interrupted login is finished later.",
            rationale: "Between these steps, different parts of one phone have different users.",
            faults: [
                "the id in the page's memory changes before the stored one",
                "the id that the login leads to is not stored, so that an interrupted login is "
                    + "lost",
                "the next launch takes the id from the page's storage instead of the vault",
            ],
            correctDesign:
                "Store the id that the login leads to, carry out the steps, and finish them at "
                + "the next launch.",
            source: "identity rules, C-28"
        ),
        Clause(
            "C-29",
            requirement: "A locked id is replaced only after an explicit decision of the user.",
            rationale: "The lock of an id means that paid purchases belong to the id.",
            faults: [
                "the lock is written and never read",
                "the lock is read after the id has changed",
                "a locked id can never be released",
            ],
            correctDesign: "Read the lock before a login replaces the id, and ask the user.",
            source: "identity rules, C-29"
        ),
        Clause(
            "C-30",
            requirement:
                "A logout removes the lock of the id, then creates an unguessable id; no data of "
                + "the previous user remains.",
            rationale: "Two people may share one phone.",
            faults: [
                "the new id is the install id, or derived from the time",
                "the lock stays, or is removed only after the new id was written",
                "the previous user's paid content stays visible",
            ],
            correctDesign:
                "Remove the lock, create a random UUID, write it to the vault, set it as the "
                + "OneSignal alias, and register it; forget the previous user's access and "
                + "account.",
            source: "identity rules, C-30"
        ),
        Clause(
            "C-31",
            requirement: "A lost vault entry does not bring back a user who has logged out.",
            rationale:
                "The install id already belongs to the account of the user who has logged out.",
            faults: [
                "when the vault entry is lost, the install id is used again",
                "the app does not remember which ids were given up",
            ],
            correctDesign:
                "Store at the logout that the install id is retired, and create another id.",
            source: "identity rules, C-31"
        ),
        Clause(
            "C-32",
            requirement:
                "When the registration of a logout fails, every part of the phone still has the "
                + "new id, and a retry is pending.",
            rationale: "Otherwise the page's memory and the vault have the ids of different users.",
            faults: [
                "the id in memory changes only after the backend has answered",
                "the failure of the registration restores the old id",
            ],
            correctDesign:
                "Change all local copies of the id first; the registration may follow later.",
            source: "identity rules, C-32"
        ),
        Clause(
            "C-33",
            requirement:
                "A page determines its user's id once, however often its start is triggered.",
            rationale: "Two reads of one vault key share one reply.",
            faults: [
                "a UI component that mounts twice starts the app twice",
                "a second page of the app creates another user id",
                "the flag of an unfinished start blocks the next one",
            ],
            correctDesign:
                "Keep one JavaScript promise for the start in a module, and return it to every "
                + "caller.",
            source: "identity rules, C-33"
        ),
        Clause(
            "C-34",
            requirement:
                "Reads of one vault key run one after the other, and a late reply does not change "
                + "the user.",
            rationale: "A reply of the bridge has no number that links it to a read.",
            faults: [
                "two parts of the page read the same vault key at once",
                "a reply to a read that has timed out is used",
            ],
            correctDesign:
                "Queue the reads of the vault; use a reply only while its read is waiting.",
            source: "identity rules, C-34"
        ),
        Clause(
            "C-35",
            requirement:
                "Unlocked vault entries contain nothing private, and no vault key is a property "
                + "name of the page's window.",
            rationale: "Every reply of the bridge becomes a global variable of the page.",
            faults: [
                "the account's email address or token is stored with the id, without a biometric lock",
                "a vault key is called 'name' or 'status', as a property of the window",
            ],
            correctDesign:
                "Leave only ids and the lock unlocked, and store everything else locked or not at "
                + "all; give the vault keys a prefix.",
            source: "identity rules, C-35"
        ),
    ]
}
