internal import Conformance

extension AccountApp {
    /// A built-in defect of the scripted app with accounts.
    ///
    /// `assay mutants` expects at least one contract to detect each defect.
    package enum Defect: String, Hashable, Sendable, CaseIterable {
        case failedSignInSwitches = "failed-sign-in-switches"
        case logoutKeepsID = "logout-keeps-id"
        case googleIsAnotherPerson = "google-is-another-person"
        case resetIsSomebodyNew = "reset-is-somebody-new"

        package var summary: String {
            switch self {
            case .failedSignInSwitches:
                "a failed sign-in changes the user that later purchases belong to"
            case .logoutKeepsID: "purchases after a logout belong to the previous user"
            case .googleIsAnotherPerson:
                "the Google ID identifies the user instead of the Firebase uid"
            case .resetIsSomebodyNew: "a password reset gives the user a new user ID"
            }
        }

        package var clauses: [String] {
            switch self {
            case .failedSignInSwitches: ["A-09"]
            case .logoutKeepsID: ["A-05"]
            case .googleIsAnotherPerson: ["A-04"]
            case .resetIsSomebodyNew: ["A-12"]
            }
        }

        fileprivate func deviate(_ policy: inout Policy) {
            switch self {
            case .failedSignInSwitches:
                let correct = policy.refused
                policy.refused = { app, stage in
                    correct(&app, stage)
                    guard stage == .password else { return }
                    app.uid = "failed-" + app.seed
                    app.stages = [.identify, .register]
                }
            case .logoutKeepsID:
                let correct = policy.forget
                policy.forget = { app in if app.act.name != .logout { correct(&app) } }
            case .googleIsAnotherPerson:
                let correct = policy.person
                policy.person = { app, stage, localID in
                    [.link, .password].contains(stage)
                        ? correct(app, stage, localID) : "google-" + app.seed
                }
            case .resetIsSomebodyNew:
                let correct = policy.person
                policy.person = { app, stage, localID in
                    let person = correct(app, stage, localID)
                    return app.act.name == .forgotPassword ? (person ?? "") + "-new" : person
                }
            }
        }
    }

    /// Creates the app with the given defects, or the correct app when there are none.
    ///
    /// - Parameters:
    ///   - installID: The install ID of the phone.
    ///   - receipts: The receipts of earlier purchases of the phone's store account.
    ///   - seed: The seed of random anonymous IDs and receipts. Each installation needs a different
    ///     seed.
    ///   - defects: The defects of the app.
    package init(installID: String, receipts: [Receipt], seed: String, defects: Set<Defect>) {
        var policy = Policy()
        for defect in Defect.allCases where defects.contains(defect) { defect.deviate(&policy) }
        self.init(installID: installID, receipts: receipts, seed: seed, policy: policy)
    }
}
