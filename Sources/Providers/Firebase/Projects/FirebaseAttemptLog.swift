internal import Values

/// The recent attempts for which Firebase limits the number per email address.
struct FirebaseAttemptLog: Hashable, Codable, Sendable {
    /// A kind of attempt with its own limit.
    enum Kind: String, Sendable {
        /// A failed sign-in with a password.
        case signIn = "sign-in"
        /// A password reset email.
        case passwordReset = "reset"

        /// The time window in which attempts are counted.
        var window: Duration {
            switch self {
            case .signIn: .seconds(300)
            case .passwordReset: .seconds(3600)
            }
        }
    }

    /// The times of the attempts, by `kind|email`.
    private var timesByKey: SharedTable<String, [Instant]> = [:]

    /// Returns whether an email address has reached the limit of attempts of one kind.
    ///
    /// If `countsAttempt` is true, the call counts one more attempt.
    mutating func exceedsLimit(
        _ kind: Kind,
        _ email: String,
        max: Int?,
        at now: Instant,
        countsAttempt: Bool
    ) -> Bool {
        guard let max else { return false }
        let key = kind.rawValue + "|" + email.lowercased()
        let recentTimes = (timesByKey[key] ?? []).filter { now - $0 < kind.window }
        timesByKey[key] = countsAttempt ? recentTimes + [now] : recentTimes
        return recentTimes.count >= max
    }
}
