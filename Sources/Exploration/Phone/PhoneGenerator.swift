package import Contracts
internal import Providers
internal import Values

/// Generates histories of an app on a phone, with a preference for situations that few earlier
/// histories covered.
///
/// The same seed produces the same histories in the same order.
package struct PhoneGenerator: Sendable {
    /// A generated history of an app as contracts, with its number and coverage.
    package struct GeneratedPhoneHistory: Sendable {
        package let number: Int
        package let script: PhoneScript
        /// The number of situations that this history is the first to cover.
        package let newSituationCount: Int
    }

    private let seed: UInt64
    private var number = 0
    package private(set) var coverage = HistoryCoverage()
    private static let stepsMax = 12
    private static let candidateCount = 4

    package init(seed: UInt64) {
        self.seed = seed
    }

    /// Generates the next history that the component that runs the steps supports.
    ///
    /// - Parameter canRun: Returns whether all steps of a contract can be run.
    /// - Returns: The history; nil when hardly any step can be run.
    package mutating func next(where canRun: (Contract) -> Bool) -> GeneratedPhoneHistory? {
        // The number of attempts is limited, in case next to no step can be run.
        for _ in 0..<10_000 {
            var random = SeededGenerator(seed: seed, text: "phone \(number)")
            number += 1
            var bestCandidate: (score: Double, script: PhoneScript)?
            for _ in 0..<Self.candidateCount {
                guard let script = PhoneScript(generate(&random)), canRun(script.contract) else {
                    continue
                }
                // The values are added in sorted order, because floating-point sums depend on the
                // order.
                let noveltyScores = Set(script.features.map(\.text)).sorted()
                    .map { 1 / Double(1 + (coverage.countByFeature[$0] ?? 0)) }
                let score = noveltyScores.reduce(0, +) / Double(script.history.steps.count)
                if bestCandidate.map({ $0.score < score }) ?? true {
                    bestCandidate = (score, script)
                }
            }
            guard let bestCandidate else { continue }
            return GeneratedPhoneHistory(
                number: number - 1,
                script: bestCandidate.script,
                newSituationCount: coverage.add(bestCandidate.script.features)
            )
        }
        return nil
    }

    /// Adds the covered situations of a history from another source, such as a saved file, to the
    /// coverage.
    ///
    /// - Returns: The number of situations that no earlier history had covered.
    package mutating func note(_ script: PhoneScript) -> Int { coverage.add(script.features) }

    // MARK: One history

    private func generate(_ random: inout SeededGenerator) -> PhoneHistory {
        var steps: [PhoneStep] = []
        var model = PhoneModel()
        func add(_ step: PhoneStep) {
            var modelAfterStep = model
            guard modelAfterStep.perform(step) else { return }
            model = modelAfterStep
            steps.append(step)
        }
        var idByUser = occursOncePer(4, &random) ? idByUser(&random) : [:]
        switch Int.random(in: 0..<40, using: &random) {
        case 0...1: for step in logoutSteps(&random) { add(step) }
        case 2: for step in restoreSteps(&random) { add(step) }
        case 3:
            idByUser = self.idByUser(&random)
            for step in undecodedVaultSteps() { add(step) }
        default:
            if !occursOncePer(5, &random) { add(.phone(initialPhoneChange(&random))) }
        }
        if occursOncePer(6, &random) { add(.bridge(randomBridgePlan(&random))) }
        if occursOncePer(10, &random) { add(.app(AppAction(.launchTwice))) }
        let count = min(
            Int.random(in: 1...Self.stepsMax, using: &random),
            Int.random(in: 1...Self.stepsMax, using: &random)
        )
        for _ in 0..<count {
            if occursOncePer(8, &random) { add(.bridge(faults(&random))) }
            if occursOncePer(8, &random) { add(.backend(failingRegistrationPlan(&random))) }
            if model.paymentSheet.state == .uncertain {
                let endings = [
                    AppAction(.kill), AppAction(.reload), AppAction(.launch), waitAction(&random),
                ]
                if let action = endings.randomElement(using: &random) { add(.app(action)) }
            } else if model.paymentSheet.state == .open {
                let endings: [PhoneChange.OwnerAction] = [.complete, .cancel, .fail]
                var change = PhoneChange()
                change.ownerAction = endings.randomElement(using: &random)
                add(.phone(change))
            } else if model.pages.isAnyOpen {
                for step in userActionSteps(&random) { add(step) }
            } else {
                let isFirstLaunch = !steps.contains(where: \.isLaunch)
                if !isFirstLaunch, occursOncePer(6, &random) {
                    var change = PhoneChange()
                    change.ownerAction = occursOncePer(2, &random) ? .reinstall : .loseID
                    add(.phone(change))
                }
                add(.app(AppAction(.launch)))
                // If no registration succeeds from the start, the app gets time for retries.
                if isFirstLaunch, model.faults.areAllRegistrationsFailing {
                    add(.app(waitAction(&random)))
                }
            }
        }
        if !model.pages.isAnyOpen { add(.app(AppAction(.launch))) }
        if occursOncePer(6, &random) { add(.app(AppAction(.status))) }
        return PhoneHistory(steps, idByUser: idByUser)
    }

    // The following sequences of steps are too long to arise by chance.

    /// Returns steps in which a signed-in user requests a restore while the store account's
    /// purchases belong to another user (C-26).
    private func restoreSteps(_ random: inout SeededGenerator) -> [PhoneStep] {
        var change = PhoneChange()
        if occursOncePer(2, &random) { change.vault[.id] = "{{user.ada}}" }
        var entry = PurchaseHistoryEntry()
        entry.user = "cleo"
        change.history = [entry]
        return [.phone(change), .app(AppAction(.launch))] + signIn(&random)
            + [.app(AppAction(.restore))]
    }

    /// Returns steps in which the app starts repeatedly while the native side does not decode any
    /// value (C-22).
    private func undecodedVaultSteps() -> [PhoneStep] {
        var plan = BridgePlan()
        plan.switches["vaultDecode"] = "raw"
        var change = PhoneChange()
        var entry = PurchaseHistoryEntry()
        entry.user = "ben"
        change.history = [entry]
        return [
            .bridge(plan), .phone(change), .app(AppAction(.launch)), .app(AppAction(.launch)),
        ]
    }

    private func signIn(_ random: inout SeededGenerator) -> [PhoneStep] {
        var plan = AppBackendPlan()
        plan.responses["login"] = [occursOncePer(2, &random) ? .claimed : .recovered(user: "ben")]
        var login = AppAction(.login)
        login.account = "acc"
        return [.backend(plan), .app(login)]
    }

    /// Returns steps in which a user logs out of an account on a phone whose purchase history
    /// contains no user, and the vault then loses the ID (C-31).
    private func logoutSteps(_ random: inout SeededGenerator) -> [PhoneStep] {
        var change = PhoneChange()
        var entry = PurchaseHistoryEntry()
        entry.isActive = occursOncePer(2, &random)
        change.history = occursOncePer(2, &random) ? [] : [entry]
        var vaultLoss = PhoneChange()
        vaultLoss.ownerAction = .loseID
        return [.phone(change), .app(AppAction(.launch))] + signIn(&random)
            + [
                .app(AppAction(.logout)), .app(AppAction(.kill)), .phone(vaultLoss),
                .app(AppAction(.launch)),
            ]
    }

    /// Returns user IDs with special characters for the users in logins and in the store's purchase
    /// history.
    ///
    /// The ID in the vault is not changed.
    private func idByUser(_ random: inout SeededGenerator) -> [String: String] {
        // An ID with a percent sign would be ambiguous, because the native side may or may not
        // decode it (C-22). No such ID is used.
        let specialCharacterIDs = ["a&locked=true", "x#y", "s p", "plus+sign", "über", "colon:one"]
        let (first, second) = (
            Int.random(in: 0..<specialCharacterIDs.count, using: &random),
            Int.random(in: 1..<specialCharacterIDs.count, using: &random)
        )
        return [
            "ben": specialCharacterIDs[first],
            "cleo": specialCharacterIDs[(first + second) % specialCharacterIDs.count],
        ]
    }

    private func occursOncePer(_ trials: Int, _ random: inout SeededGenerator) -> Bool {
        Int.random(in: 0..<trials, using: &random) == 0
    }

    /// Returns random data that is on the phone before the first launch of the app.
    private func initialPhoneChange(_ random: inout SeededGenerator) -> PhoneChange {
        var change = PhoneChange()
        if occursOncePer(4, &random) {
            let kinds: [PhoneChange.Kind] = [.ipad, .android, .ipadDesktop, .unknown, .browser]
            change.kind = kinds.randomElement(using: &random)
        }
        if !occursOncePer(3, &random) {
            change.vault[.id] = "{{user.ada}}"
            if occursOncePer(4, &random) { change.vault[.lock] = "true" }
        }
        if occursOncePer(3, &random) {
            change.history = (0..<Int.random(in: 0...2, using: &random)).map { _ in
                var entry = PurchaseHistoryEntry()
                entry.user =
                    occursOncePer(3, &random) ? nil : ["ada", "ben"].randomElement(using: &random)
                entry.isAnonymous = entry.user == nil && occursOncePer(2, &random)
                entry.isActive = !occursOncePer(3, &random)
                entry.purchased = .seconds(-86_400 * Int.random(in: 1...20, using: &random))
                if occursOncePer(3, &random) { entry.product = "premium_yearly" }
                if occursOncePer(6, &random) { entry.environment = "sandbox" }
                return entry
            }
        }
        if occursOncePer(10, &random) {
            change.installID = occursOncePer(3, &random) ? .missing : .late(.milliseconds(1200))
        }
        return change
    }

    /// Returns a random variant of the native side's responses that Despia's documentation allows.
    private func randomBridgePlan(_ random: inout SeededGenerator) -> BridgePlan {
        var plan = BridgePlan()
        switch Int.random(in: 0..<5, using: &random) {
        case 0:
            plan.switches["vaultMissing"] = ["null", "silent", "empty", "na"]
                .randomElement(using: &random).map { .string($0) }
        case 1:
            plan.switches["vaultDecode"] = ["once", "raw"].randomElement(using: &random)
                .map { .string($0) }
        case 2:
            plan.switches["history"] = ["null", "silent", "string"].randomElement(using: &random)
                .map { .string($0) }
        case 3: plan.switches["hasResultChannel"] = .bool(false)
        default:
            plan.switches["latencyMilliseconds"] = .integer(
                [5, 150, 400].randomElement(using: &random) ?? 150
            )
        }
        return plan
    }

    /// Returns a random fault of the bridge between the page and the native side.
    private func faults(_ random: inout SeededGenerator) -> BridgePlan {
        var plan = BridgePlan()
        let faults: [(BridgePlan.Fault.Kind, String, VaultRole?)] = [
            (.drop, "setvault", .id), (.drop, "setvault", .lock), (.late, "readvault", .id),
            (.duplicate, "readvault", .id), (.drop, "readvault", .id),
            (.late, "getpurchasehistory", nil), (.drop, "getpurchasehistory", nil),
            (.duplicate, "getpurchasehistory", nil),
            (.wrongType, "readvault", .id), (.wrongKey, "readvault", .id),
        ]
        guard let (kind, scheme, role) = faults.randomElement(using: &random) else { return plan }
        plan.faults = [
            BridgePlan.Fault(
                kind: kind,
                scheme: scheme,
                role: role,
                times: Int.random(in: 1...2, using: &random)
            )
        ]
        return plan
    }

    /// Returns random failures of the registrations at the app's backend.
    ///
    /// Either a success follows the failures, or the failures are permanent.
    private func failingRegistrationPlan(_ random: inout SeededGenerator) -> AppBackendPlan {
        var plan = AppBackendPlan()
        let failedResponses: [AppBackendPlan.PlannedResponse] = [
            .status(500), .status(503), .reset, .slow(.seconds(1)), .slow(.seconds(3)), .otherID,
        ]
        let count = Int.random(in: 1...2, using: &random)
        plan.responses["register"] =
            (0..<count).compactMap { _ in failedResponses.randomElement(using: &random) } + [.ok]
        if occursOncePer(4, &random) {
            let endings: [AppBackendPlan.PlannedResponse] = [.status(500), .reset, .never]
            plan.responses["register"] = endings.randomElement(using: &random).map { [$0] }
            plan.repeatsLastResponse = true
        }
        return plan
    }

    private func userActionSteps(_ random: inout SeededGenerator) -> [PhoneStep] {
        let userActionNames: [AppAction.Name] = [
            .launch, .launch, .reload, .kill, .upgrade, .upgrade, .upgradeTwice, .purchase,
            .restore, .login, .login, .login, .logout, .logout, .status, .callback, .wait,
        ]
        guard let name = userActionNames.randomElement(using: &random) else { return [] }
        var action = AppAction(name)
        var steps: [PhoneStep] = []
        switch name {
        case .login:
            action.account = "acc"
            var plan = AppBackendPlan()
            let responses: [AppBackendPlan.PlannedResponse] = [
                .claimed, .claimed, .recovered(user: "ben"), .recovered(user: "ben"),
                .recovered(user: "cleo"), .status(401), .status(500), .reset, .noID, .nullID,
                .undefinedID,
            ]
            plan.responses["login"] = [responses.randomElement(using: &random) ?? .claimed]
            if occursOncePer(8, &random) {
                return steps + stepsBuyingDuringSlowChange(action, plan)
            }
            steps.append(.backend(plan))
            if occursOncePer(8, &random) {
                action.killPoint = occursOncePer(2, &random) ? .loggedIn : .idWritten
            }
        case .logout:
            if occursOncePer(8, &random) {
                return stepsBuyingDuringSlowChange(action, AppBackendPlan())
            }
            if occursOncePer(10, &random) { action.killPoint = .idWritten }
        case .restore:
            if occursOncePer(8, &random) {
                return stepsBuyingDuringSlowChange(action, AppBackendPlan())
            }
        case .upgrade, .purchase:
            if occursOncePer(8, &random) {
                var plan = AppBackendPlan()
                plan.isNotifiedOfPurchases = false
                steps.append(.backend(plan))
            }
        case .callback:
            let arguments: [JSONValue?] = [
                nil, .object(JSONObject()), .string("premium_monthly"),
                ["ok": true, "cancelled": false, "restored": false, "source": "paywall"],
            ]
            action.callbackArgument = arguments.randomElement(using: &random) ?? nil
        case .wait: action = waitAction(&random)
        case .launch, .launchTwice, .reload, .kill, .upgradeTwice, .status, .signUp, .signIn,
            .google, .forgotPassword, .deleteAccount, .refresh:
            break
        }
        return steps + [.app(action)]
    }

    private func waitAction(_ random: inout SeededGenerator) -> AppAction {
        var action = AppAction(.wait)
        action.time = .seconds([1, 6, 12].randomElement(using: &random) ?? 6)
        return action
    }

    /// Returns steps in which the user taps to buy while a slow change of the user ID is in
    /// progress (C-18).
    private func stepsBuyingDuringSlowChange(_ action: AppAction, _ plan: AppBackendPlan)
        -> [PhoneStep]
    {
        var (action, plan) = (action, plan)
        action.isNextStepImmediate = true
        plan.responses["register"] = [.slow(.seconds(2))]
        return [.backend(plan), .app(action), .app(AppAction(.upgrade))]
    }
}

extension PhoneStep {
    fileprivate var isLaunch: Bool {
        guard case .app(let action) = self else { return false }
        return action.name == .launch
    }
}
