internal import Contracts
internal import Judging
internal import Providers
internal import Values

/// Defects of the scripted app in its bridge commands, their replies and its timeouts.
extension ClientDefect {
    static let bridge: [ClientDefect] = [
        ClientDefect(
            "commands-in-browser",
            "a browser is treated as a phone with a bridge",
            breaks: "C-01",
            guideID: "X-56"
        ) {
            $0.bridge.isNativeApp = { _ in true }
            let originalBehavior = $0.selling.mayOpenPaywall
            $0.selling.mayOpenPaywall = { app in
                app.bridge.globals["uuid"] == nil || originalBehavior(app)
            }
        },
        ClientDefect(
            "no-command-queue",
            "commands of one task are assigned without a queue, so that the runtime loses them",
            breaks: "C-36"
        ) {
            $0.bridge.sendsOneCommandInATask = false
        },
        ClientDefect(
            "waits-for-bridge",
            "reads from the vault wait for the bridge's timeout of 30 seconds",
            breaks: "C-05",
            guideID: "X-41"
        ) {
            $0.bridge.vaultReadTimeoutMilliseconds = 30_000
            $0.bridge.installIDTimeoutMilliseconds = 30_000
        },
        ClientDefect(
            "alias-at-launch-only",
            "OneSignal gets the user ID only when the app starts",
            breaks: "C-10"
        ) {
            let originalBehavior = $0.launch.sendAlias
            $0.launch.sendAlias = { app, flow, now in
                if !app.hasFinishedStart { originalBehavior(&app, flow, now) }
            }
        },
        ClientDefect(
            "alias-of-before",
            "OneSignal gets the previous user ID",
            breaks: "C-10"
        ) {
            $0.launch.sendAlias = { app, flow, now in
                app.bridge.sendAlias(app.id ?? flow.id, at: now)
            }
        },
        ClientDefect(
            "spins-for-ever",
            "the app waits for a response without a time limit",
            breaks: "C-20",
            guideID: "X-59"
        ) {
            $0.bridge.callTimeoutMilliseconds = 1 << 40
        },
        ClientDefect(
            "unencoded",
            "user IDs in bridge commands are not percent-encoded",
            breaks: "C-21",
            guideID: "X-44"
        ) {
            $0.bridge.encoded = { $0 }
        },
        ClientDefect(
            "encoded-twice",
            "user IDs in bridge commands are percent-encoded twice",
            breaks: "C-21"
        ) {
            $0.bridge.encoded = { $0.percentEncoded.percentEncoded }
        },
        ClientDefect(
            "reads-raw",
            "values from the vault are not percent-decoded",
            breaks: "C-22"
        ) {
            $0.bridge.decoded = { $0 }
        },
        ClientDefect(
            "late-reply-adopted",
            "the value in a late vault reply becomes the user ID",
            breaks: "C-34"
        ) {
            $0.bridge.handleUnexpectedValue = { app, name, value, now in
                guard name == app.bridge.key(.id), let text = value.string,
                    ClientTimeline.isUsable(text), app.hasFinishedStart, text != app.id,
                    !app.flows.isWaiting(for: name)
                else { return }
                var flow = ScriptedFlow([.write, .sendAlias, .register, .adoptID], at: now)
                flow.id = text
                flow.source = "vault"
                app.flows.append(flow)
            }
        },
        ClientDefect(
            "key-of-window",
            "a vault key is the name of a window property",
            breaks: "C-35"
        ) {
            let originalBehavior = $0.bridge.key
            $0.bridge.key = { role, keys in role == .lock ? "status" : originalBehavior(role, keys)
            }
        },
    ]
}
