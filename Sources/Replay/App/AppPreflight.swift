package import Contracts
package import Judging
internal import Phone
internal import Providers
internal import Values

/// Checks, before any scenario, whether the profile of an app matches the page of the app.
///
/// Without this check, every scenario would report a mistake in the profile as a fault of the app,
/// under unrelated clauses.
package enum AppPreflight {
    package enum Outcome: Hashable, Sendable {
        /// The page cannot be opened; the string is the reason.
        case unreachable(String)
        /// The profile does not match the page; each string describes the mismatch and what to
        /// write.
        case profile([String])
        /// Scenarios can run.
        ///
        /// The notes are warnings; they do not prevent the scenarios from running.
        case ready(notes: [String])
    }

    /// Opens the app once, as a user whose ID is in the phone's vault, and compares the page with
    /// the profile.
    package static func inspectApp(_ configuration: BrowserScenario.Configuration) async -> Outcome
    {
        var scenario = BrowserScenario("preflight", configuration)
        var phone = PhoneChange()
        phone.vault = [.id: "{{user.preflight}}"]
        await PhoneExecution.carryOut(.phone(phone), by: &scenario)
        await PhoneExecution.carryOut(.app(AppAction(.launch)), by: &scenario)
        let runProblem = scenario.state.withLock { $0.runProblem }
        let inspection = await PageInspection(scenario)
        await scenario.close()
        if case .pageUnusable(let text)? = runProblem { return .unreachable(text) }
        return outcome(inspection, configuration.profile)
    }

    /// The result of looking up a CSS selector on the page of the app.
    package enum ElementState: String, Hashable, Sendable { case there, hidden, absent, invalid }

    /// The observations of one launch of the app in the browser, to be compared with the profile.
    package struct PageInspection: Sendable {
        package var timeline: ClientTimeline
        /// The lookup result for each selector of the profile, by the profile key of the selector.
        package var elements: [String: ElementState]
        /// The elements of the page that can be tapped, as CSS selectors.
        package var tappableElements: [String]
        /// The reasons why Assay's model of the backend refused registrations of the app.
        package var registrationRefusals: [String]

        package init(
            _ timeline: ClientTimeline,
            elements: [String: ElementState],
            tappableElements: [String],
            registrationRefusals: [String] = []
        ) {
            self.timeline = timeline
            self.elements = elements
            self.tappableElements = tappableElements
            self.registrationRefusals = registrationRefusals
        }

        init(_ scenario: BrowserScenario) async {
            timeline = scenario.timeline
            elements = [:]
            tappableElements = []
            registrationRefusals = scenario.state.withLock { $0.simulatedPhones.exchanges }
                .compactMap {
                    exchange in
                    guard exchange.purpose == .appCall("register"),
                        let status = exchange.response?.status, status >= 400
                    else { return nil }
                    return exchange.responseJSON?["why"]?.string
                }
            guard let page = scenario.page("phone") else { return }
            let selectors = scenario.profile.app.selectors
            let found =
                await scenario.screen(of: page).elementStates(selectors.map(\.selector)) ?? []
            for (selector, found) in zip(selectors, found) { elements[selector.key] = found }
            tappableElements = await scenario.screen(of: page).tappableElements()
        }
    }

    /// Compares the observations of a launch with the profile.
    ///
    /// Returns the mismatches; if there are none, returns notes.
    package static func outcome(_ inspection: PageInspection, _ profile: Profile) -> Outcome {
        let app = profile.app
        var problems: [String] = []
        var notes: [String] = []
        if app.tapSelectors.isEmpty {
            problems.append(
                "the profile names no elements to tap: add "
                    + "'app: {taps: {upgrade: \"#…\", restore: …, login: …, logout: …, status: …}}'"
                    + elementSuggestion(inspection)
            )
        }
        let hasRegistered = inspection.timeline.registrations.contains(where: \.isAcknowledged)
        for (key, selector) in app.selectors {
            guard let found = inspection.elements[key] else { continue }
            let isUpgrade = key == "app: taps: upgrade"
            // Elements that appear only later, or only for other users, need not be on the page at
            // the start.
            let isTapped = key.hasPrefix("app: taps:") || key.hasPrefix("app: inputs:")
            switch found {
            case .invalid: problems.append("'\(key): \(selector)' is not a valid CSS selector")
            case .absent where isUpgrade && hasRegistered:
                problems.append(
                    "the page has no element '\(selector)' ('\(key)')\(elementSuggestion(inspection))"
                )
            case .absent where isTapped && !key.hasSuffix("later"):
                notes.append("the page has no element '\(selector)' ('\(key)') after its start")
            case .hidden where isUpgrade && hasRegistered:
                notes.append(
                    "'\(selector)' ('\(key)') is hidden after the start, so the upgrade counts as "
                        + "locked; if a menu has to be opened first, list both: "
                        + "[\"#menu\", \"\(selector)\"]"
                )
            case .absent, .hidden, .there: break
            }
        }
        problems += registrationProblems(inspection, profile) + vault(inspection, app)
        return problems.isEmpty ? .ready(notes: notes) : .profile(problems)
    }

    private static func elementSuggestion(_ inspection: PageInspection) -> String {
        inspection.tappableElements.isEmpty
            ? ""
            : "; elements that can be tapped: "
                + inspection.tappableElements.prefix(8).joined(separator: ", ")
    }

    /// Returns the names as a list in alphabetical order, each name once.
    private static func sortedList(_ names: [String]) -> String {
        Set(names).sorted().joined(separator: ", ")
    }

    private static func registrationProblems(_ inspection: PageInspection, _ profile: Profile)
        -> [String]
    {
        let calls = inspection.timeline.registrations
        if let refusal = inspection.registrationRefusals.first,
            !calls.contains(where: \.isAcknowledged)
        {
            return [
                "the app's registration request does not fit 'endpoints: register': \(refusal)"
            ]
        }
        guard calls.isEmpty, let endpoint = profile.endpoints["register"] else { return [] }
        // A page that sends only GET requests has not tried to register a user.
        let unexpectedRequests = sortedList(
            inspection.timeline.unroutedRequests.map(\.text).filter { !$0.hasPrefix("GET ") }
        )
        guard !unexpectedRequests.isEmpty else { return [] }
        return [
            "the page called \(unexpectedRequests), but the profile sets 'endpoints: register' to "
                + "\(endpoint.method) \(endpoint.path)"
        ]
    }

    private static func vault(_ inspection: PageInspection, _ app: Profile.App) -> [String] {
        let keys = inspection.timeline.commands.compactMap { command in
            ["readvault", "setvault"].contains(command.bridge.scheme) ? command.bridge["key"] : nil
        }
        let expectedKey = app.vaultKeys[.id] ?? ""
        guard !keys.isEmpty, !keys.contains(expectedKey) else { return [] }
        return [
            "the page uses these keys of the phone's vault: \(sortedList(keys)); but the profile sets "
                + "'app: vault: id' to '\(expectedKey)'"
        ]
    }
}

extension Profile.App {
    /// All CSS selectors in the profile, each with its profile key.
    package var selectors: [(key: String, selector: String)] {
        let tapSelectors = tapSelectors.sorted { $0.key < $1.key }.compactMap { name, path in
            path.first.map { (key: "app: taps: \(name)", selector: $0) }
        }
        let laterSelectors = self.tapSelectors.sorted { $0.key < $1.key }.flatMap { name, path in
            path.dropFirst().map { (key: "app: taps: \(name), later", selector: $0) }
        }
        let inputSelectors = inputSelectors.sorted { $0.key < $1.key }.map {
            (key: "app: inputs: \($0.key)", selector: $0.value)
        }
        let elementSelectors = elementSelectors.sorted { $0.key.rawValue < $1.key.rawValue }.map {
            (key: "app: shows: \($0.key.rawValue)", selector: $0.value)
        }
        let agreementSelector = agreementSelector.map { [(key: "app: agree", selector: $0)] } ?? []
        return tapSelectors + laterSelectors + inputSelectors + elementSelectors + agreementSelector
    }
}
