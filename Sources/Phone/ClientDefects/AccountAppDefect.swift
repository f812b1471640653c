internal import Contracts

extension AccountApp {
    /// A built-in defect of the scripted app with accounts.
    ///
    /// `assay mutants` expects at least one contract to detect each defect.
    package enum Defect: String, Hashable, Sendable, CaseIterable {
        case failedSignInSwitches = "failed-sign-in-switches"
        case logoutKeepsID = "logout-keeps-id"
        case googleCreatesAnotherUser = "google-is-another-person"
        case resetCreatesNewUser = "reset-is-somebody-new"

        package var summary: String {
            switch self {
            case .failedSignInSwitches:
                "a failed sign-in changes the user that later purchases belong to"
            case .logoutKeepsID: "purchases after a logout belong to the previous user"
            case .googleCreatesAnotherUser:
                "the Google ID identifies the user instead of the Firebase uid"
            case .resetCreatesNewUser: "a password reset gives the user a new user ID"
            }
        }

        package var clauses: [String] {
            switch self {
            case .failedSignInSwitches: ["A-09"]
            case .logoutKeepsID: ["A-05"]
            case .googleCreatesAnotherUser: ["A-04"]
            case .resetCreatesNewUser: ["A-12"]
            }
        }

        fileprivate func applyDefect(_ policy: inout Policy) {
            switch self {
            case .failedSignInSwitches:
                let originalBehavior = policy.handleRefusal
                policy.handleRefusal = { app, requestStep in
                    originalBehavior(&app, requestStep)
                    guard requestStep == .password else { return }
                    app.uid = "failed-" + app.seed
                    app.requestSteps = [.identify, .register]
                }
            case .logoutKeepsID:
                let originalBehavior = policy.clearUserID
                policy.clearUserID = { app in
                    if app.action.name != .logout { originalBehavior(&app) }
                }
            case .googleCreatesAnotherUser:
                let originalBehavior = policy.resultingUserID
                policy.resultingUserID = { app, requestStep, localID in
                    [.linkAccount, .password].contains(requestStep)
                        ? originalBehavior(app, requestStep, localID) : "google-" + app.seed
                }
            case .resetCreatesNewUser:
                let originalBehavior = policy.resultingUserID
                policy.resultingUserID = { app, requestStep, localID in
                    let resultingUserID = originalBehavior(app, requestStep, localID)
                    return app.action.name == .forgotPassword
                        ? (resultingUserID ?? "") + "-new" : resultingUserID
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
        for defect in Defect.allCases where defects.contains(defect) { defect.applyDefect(&policy) }
        self.init(installID: installID, receipts: receipts, seed: seed, policy: policy)
    }
}
