internal import Browser
package import Conformance
internal import FakeServers
internal import Phone

/// A first look at an app, before any scenario: whether the profile speaks of this page at all.
///
/// What a profile says wrong would otherwise be told as the app's fault, once in every scenario and
/// under clauses that have nothing to do with it.
package enum AppPreflight {
    package enum Outcome: Hashable, Sendable {
        /// The page cannot be opened; the text says why.
        case unreachable(String)
        /// What the profile says is not so; each with what was seen and what to write.
        case profile([String])
        /// What is worth a word, and stops nobody.
        case ready(notes: [String])
    }

    /// Opens the app once as somebody whose id is in the vault.
    package static func look(_ setting: BrowserScenario.Setting) async -> Outcome {
        var scenario = BrowserScenario("preflight", setting)
        var phone = PhoneChange()
        phone.vault = [.id: "{{user.preflight}}"]
        await PhonePlay.carryOut(.phone(phone), by: &scenario)
        await PhonePlay.carryOut(.app(AppAction(.launch)), by: &scenario)
        let trouble = scenario.state.withLock { $0.trouble }
        let seen = await Seen(scenario)
        await scenario.close()
        if case .pageUnusable(let text)? = trouble { return .unreachable(text) }
        return outcome(seen, setting.profile)
    }

    /// What becomes of a selector on a page.
    package enum Found: String, Hashable, Sendable { case there, hidden, absent, invalid }

    /// What a launch showed.
    package struct Seen: Sendable {
        package var timeline: ClientTimeline
        /// What became of the profile's selectors, by their keys.
        package var elements: [String: Found]
        /// What could be tapped, as selectors.
        package var tappable: [String]
        /// What the model answered to registrations that it refused.
        package var refusals: [String]

        package init(
            _ timeline: ClientTimeline,
            elements: [String: Found],
            tappable: [String],
            refusals: [String] = []
        ) {
            self.timeline = timeline
            self.elements = elements
            self.tappable = tappable
            self.refusals = refusals
        }

        init(_ scenario: BrowserScenario) async {
            timeline = scenario.timeline
            elements = [:]
            tappable = []
            refusals = scenario.state.withLock { $0.world.exchanges }.compactMap { exchange in
                guard exchange.purpose == .appCall("register"),
                    let status = exchange.response?.status, status >= 400
                else { return nil }
                return exchange.answeredJSON?["why"]?.string
            }
            guard let page = scenario.page("phone") else { return }
            let selectors = scenario.profile.app.selectors
            let found = await scenario.survey(selectors.map(\.selector), on: page) ?? []
            for (selector, found) in zip(selectors, found) { elements[selector.key] = found }
            tappable = await scenario.tappable(on: page)
        }
    }

    /// What follows from it.
    package static func outcome(_ seen: Seen, _ profile: Profile) -> Outcome {
        let app = profile.app
        var problems: [String] = []
        var notes: [String] = []
        if app.taps.isEmpty {
            problems.append(
                "the profile does not say what can be tapped: add "
                    + "'app: {taps: {upgrade: \"#…\", restore: …, login: …, logout: …, status: …}}'"
                    + offer(seen)
            )
        }
        let isStarted = seen.timeline.registrations.contains(where: \.isAcknowledged)
        for (key, selector) in app.selectors {
            guard let found = seen.elements[key] else { continue }
            let isUpgrade = key == "app: taps: upgrade"
            // What is shown later, or to others, need not be there yet.
            let isTapped = key.hasPrefix("app: taps:") || key.hasPrefix("app: inputs:")
            switch found {
            case .invalid: problems.append("'\(key): \(selector)' is no CSS selector")
            case .absent where isUpgrade && isStarted:
                problems.append("the page has no element '\(selector)' ('\(key)')\(offer(seen))")
            case .absent where isTapped && !key.hasSuffix("later"):
                notes.append("the page has no element '\(selector)' ('\(key)') after its start")
            case .hidden where isUpgrade && isStarted:
                notes.append(
                    "'\(selector)' ('\(key)') is hidden after the start, which counts as a shut "
                        + "gate; where a menu has to be opened first, list both: "
                        + "[\"#menu\", \"\(selector)\"]"
                )
            case .absent, .hidden, .there: break
            }
        }
        problems += registration(seen, profile) + vault(seen, app)
        return problems.isEmpty ? .ready(notes: notes) : .profile(problems)
    }

    private static func offer(_ seen: Seen) -> String {
        seen.tappable.isEmpty ? "" : "; it has " + seen.tappable.prefix(8).joined(separator: ", ")
    }

    /// Names in alphabetical order, each once.
    private static func list(_ names: [String]) -> String {
        Set(names).sorted().joined(separator: ", ")
    }

    private static func registration(_ seen: Seen, _ profile: Profile) -> [String] {
        let calls = seen.timeline.registrations
        if let refusal = seen.refusals.first, !calls.contains(where: \.isAcknowledged) {
            return ["no registration is understood: \(refusal) ('endpoints: register')"]
        }
        guard calls.isEmpty, let endpoint = profile.endpoints["register"] else { return [] }
        // A page that only reads has not called its backend of anybody.
        let strays = list(seen.timeline.strayCalls.map(\.text).filter { !$0.hasPrefix("GET ") })
        guard !strays.isEmpty else { return [] }
        return [
            "the page called \(strays), and 'endpoints: register' says "
                + "\(endpoint.method) \(endpoint.path)"
        ]
    }

    private static func vault(_ seen: Seen, _ app: Profile.App) -> [String] {
        let keys = seen.timeline.commands.compactMap { command in
            ["readvault", "setvault"].contains(command.bridge.scheme) ? command.bridge["key"] : nil
        }
        let wanted = app.vaultKeys[.id] ?? ""
        guard !keys.isEmpty, !keys.contains(wanted) else { return [] }
        return [
            "the page keeps \(list(keys)) in the vault and not '\(wanted)', which "
                + "'app: vault: id' names"
        ]
    }
}

extension Profile.App {
    /// Every selector, by its place in the profile.
    package var selectors: [(key: String, selector: String)] {
        let taps = taps.sorted { $0.key < $1.key }.compactMap { name, path in
            path.first.map { (key: "app: taps: \(name)", selector: $0) }
        }
        let later = self.taps.sorted { $0.key < $1.key }.flatMap { name, path in
            path.dropFirst().map { (key: "app: taps: \(name), later", selector: $0) }
        }
        let inputs = inputs.sorted { $0.key < $1.key }.map {
            (key: "app: inputs: \($0.key)", selector: $0.value)
        }
        let shows = shows.sorted { $0.key.rawValue < $1.key.rawValue }.map {
            (key: "app: shows: \($0.key.rawValue)", selector: $0.value)
        }
        let agree = agree.map { [(key: "app: agree", selector: $0)] } ?? []
        return taps + later + inputs + shows + agree
    }
}
