import Contracts
import Judging
internal import Providers
import Testing
import Values

@testable import Replay

/// What a profile says wrong of a page is told from one launch, in words of what was seen.
@Suite("Preflight of an app")
struct AppPreflightTests {
    private static let upgrade = "app: taps: upgrade"

    private static let profile: Profile = {
        var profile = Profile()
        profile.app.tapSelectors = ["upgrade": ["#upgrade"], "login": ["#next", "#sign-in"]]
        profile.app.vaultKeys = [.id: "user_id"]
        profile.endpoints["register"] = Profile.Endpoint(method: "POST", path: "/people")
        return profile
    }()

    /// A launch that registered, read its id from the vault and showed every element.
    private static let launch = [command("readvault://?key=user_id"), registration(status: 200)]

    private static let everything = [
        upgrade: AppPreflight.ElementState.there, "app: taps: login": .there,
        "app: taps: login, later": .absent,
    ]

    private static func command(_ text: String) -> Exchange {
        let body: JSONObject = ["command": .string(text), "device": "phone", "load": "1"]
        return Exchange(
            from: .app,
            to: .despia,
            namespace: "n",
            purpose: .call,
            at: Instant(milliseconds: 0),
            request: HTTPMessage.Request("POST", "/bridge", body: JSONValue.object(body).bytes),
            outcome: .answered(HTTPMessage.Response(200, json: [:]))
        )
    }

    private static func registration(status: Int) -> Exchange {
        Exchange(
            from: .app,
            to: .backend,
            namespace: "n",
            purpose: .appCall("register"),
            at: Instant(milliseconds: 0),
            request: HTTPMessage.Request("POST", "/people", body: []),
            completed: 1,
            outcome: .answered(HTTPMessage.Response(status))
        )
    }

    private static func stray(_ call: String) -> Exchange {
        .userAction(
            .unmatchedRequest(call),
            on: "phone",
            namespace: "n",
            at: Instant(milliseconds: 0)
        )
    }

    private static func outcome(
        _ exchanges: [Exchange] = launch,
        elements: [String: AppPreflight.ElementState] = [:],
        tappableElements: [String] = ["#menu", "#buy"],
        registrationRefusals: [String] = [],
        of profile: Profile = profile
    ) -> AppPreflight.Outcome {
        let seen = AppPreflight.PageInspection(
            ClientTimeline(exchanges, profile: profile),
            elements: everything.merging(elements) { $1 },
            tappableElements: tappableElements,
            registrationRefusals: registrationRefusals
        )
        return AppPreflight.outcome(seen, profile)
    }

    @Test func `a page that matches the profile is ready`() {
        #expect(Self.outcome() == .ready(notes: []))
    }

    @Test func `without taps in the profile the page is asked for candidates`() {
        var profile = Self.profile
        profile.app.tapSelectors = [:]
        guard case .profile(let problems) = Self.outcome(of: profile) else {
            Issue.record("a profile without taps is ready")
            return
        }
        #expect(problems.count == 1)
        #expect(problems[0].contains("add 'app: {taps: {upgrade:"))
        #expect(problems[0].hasSuffix("; elements that can be tapped: #menu, #buy"))
    }

    @Test func `an invalid selector is a problem at any location`() {
        for key in Self.everything.keys {
            guard case .profile(let problems) = Self.outcome(elements: [key: .invalid]) else {
                Issue.record("\(key) is ready")
                continue
            }
            #expect(problems.count == 1)
            #expect(problems[0].contains(key))
            #expect(problems[0].hasSuffix("is not a valid CSS selector"))
        }
    }

    @Test func `the gate is checked only after a completed start`() {
        let text =
            "the page has no element '#upgrade' ('app: taps: upgrade'); elements that can be tapped: "
            + "#menu, #buy"
        #expect(Self.outcome(elements: [Self.upgrade: .absent]) == .profile([text]))
        // A page that could not register may show anything.
        guard
            case .ready(let notes) = Self.outcome(
                [Self.command("readvault://?key=user_id"), Self.registration(status: 503)],
                elements: [Self.upgrade: .absent]
            )
        else {
            Issue.record("a start without an end is a problem of the profile")
            return
        }
        #expect(notes.count == 1)
    }

    @Test func `a hidden gate may be inside a menu`() {
        guard case .ready(let notes) = Self.outcome(elements: [Self.upgrade: .hidden]) else {
            Issue.record("a hidden gate is no error")
            return
        }
        #expect(notes.count == 1)
        #expect(notes[0].contains("list both: [\"#menu\", \"#upgrade\"]"))
    }

    @Test func `elements shown to others or later are at most a note`() {
        guard case .ready(let notes) = Self.outcome(elements: ["app: taps: login": .absent]) else {
            Issue.record("a page without a login is an error")
            return
        }
        #expect(notes == ["the page has no element '#next' ('app: taps: login') after its start"])
        #expect(Self.outcome(elements: ["app: taps: login, later": .hidden]) == .ready(notes: []))
    }

    @Test func `a call to another route is printed with the profile's route`() {
        let vault = Self.command("readvault://?key=user_id")
        let strays = [Self.stray("POST /v2/people"), Self.stray("GET /config")]
        #expect(
            Self.outcome([vault] + strays)
                == .profile([
                    "the page called POST /v2/people, but the profile sets 'endpoints: register' to "
                        + "POST /people"
                ])
        )
        // Who only reads has not called anybody.
        #expect(Self.outcome([vault, strays[1]]) == .ready(notes: []))
        // Who has registered may call what it likes.
        #expect(Self.outcome(Self.launch + strays) == .ready(notes: []))
    }

    @Test func `an incomplete registration is reported with its missing fields`() {
        let refused = [
            Self.command("readvault://?key=user_id"), Self.registration(status: 400),
        ]
        #expect(
            Self.outcome(refused, registrationRefusals: ["it lacks /user; it has /person"])
                == .profile([
                    "the app's registration request does not fit 'endpoints: register': "
                        + "it lacks /user; it has /person"
                ])
        )
        // One that is understood in the end was only tried in vain before.
        #expect(
            Self.outcome(refused + Self.launch, registrationRefusals: ["it lacks /user"])
                == .ready(notes: [])
        )
    }

    @Test func `a different vault key is reported`() {
        let other =
            [Self.command("setvault://?key=uid&value=a&locked=false")] + [
                Self.registration(status: 200)
            ]
        #expect(
            Self.outcome(other)
                == .profile([
                    "the page uses these keys of the phone's vault: uid; but the profile sets "
                        + "'app: vault: id' to 'user_id'"
                ])
        )
        // A page that keeps nothing there keeps nothing wrong.
        #expect(Self.outcome([Self.registration(status: 200)]) == .ready(notes: []))
    }
}
