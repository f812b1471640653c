internal import Conformance

extension AccountApp {
    /// A deviation of the app with accounts, selected by name; `assay mutants` expects each to be
    /// caught.
    package enum Defect: String, Hashable, Sendable, CaseIterable {
        case failedSignInSwitches = "failed-sign-in-switches"
        case logoutKeepsID = "logout-keeps-id"
        case googleIsAnotherPerson = "google-is-another-person"
        case resetIsSomebodyNew = "reset-is-somebody-new"

        package var summary: String {
            switch self {
            case .failedSignInSwitches: "a sign-in that failed switches the purchaser"
            case .logoutKeepsID: "after a logout purchases go to who was signed in"
            case .googleIsAnotherPerson: "Google's id, not Firebase's, names the person"
            case .resetIsSomebodyNew: "after a password reset the person has a new id"
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

    /// The same app with some of its decisions gone wrong; with none of them, the correct one.
    ///
    /// - Parameters:
    ///   - installID: The install id of the phone.
    ///   - receipts: What its store account has bought already.
    ///   - seed: What anonymous ids and receipts are made of; another for each installation.
    ///   - defects: How it deviates from a correct app.
    package init(installID: String, receipts: [Receipt], seed: String, defects: Set<Defect>) {
        var policy = Policy()
        for defect in Defect.allCases where defects.contains(defect) { defect.deviate(&policy) }
        self.init(installID: installID, receipts: receipts, seed: seed, policy: policy)
    }
}
