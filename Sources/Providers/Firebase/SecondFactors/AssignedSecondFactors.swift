internal import Values

extension SecondFactor {
    /// Converts the second factors that an administrator sets for a user.
    ///
    /// An entry without a phone number is refused, because this admin API knows only phones as
    /// second factors.
    ///
    /// - Parameters:
    ///   - entries: The second factors in the format of the API.
    ///   - givesIDs: Whether an entry without an ID gets a new ID. Otherwise, such an entry is
    ///     refused.
    ///   - ids: The source of new IDs.
    ///   - now: The time of enrollment of an entry that contains no time.
    /// - Returns: The second factors, without repeated phone numbers.
    /// - Throws: The error of the first entry that is refused.
    static func assigned(
        by entries: [JSONValue],
        givesIDs: Bool,
        _ ids: inout IDSource,
        at now: Instant
    ) throws(FirebaseError) -> [SecondFactor] {
        var factors: [SecondFactor] = []
        for entry in entries {
            let phone = FirebaseFields.text(entry["phoneInfo"]) ?? ""
            guard FirebaseSyntax.isPhone(phone) else {
                throw FirebaseError("INVALID_MFA_PHONE_NUMBER", "Invalid format.")
            }
            let givenID = entry["mfaEnrollmentId"]?.string.flatMap { $0.isEmpty ? nil : $0 }
            guard givesIDs || givenID != nil else {
                throw FirebaseError("INVALID_MFA_ENROLLMENT_ID", "mfaEnrollmentId must be defined.")
            }
            if let givenID, factors.contains(where: { $0.id == givenID }) {
                throw FirebaseError("DUPLICATE_MFA_ENROLLMENT_ID")
            }
            // The same phone can be a second factor of the user only once.
            guard !factors.contains(where: { $0.phoneNumber == phone }) else { continue }
            let enrolledAt = entry["enrolledAt"]?.string.flatMap { Instant(iso8601: $0) }
            let enrolled = enrolledAt.flatMap { RequestDate($0) }?.instant
            guard enrolledAt == nil || enrolled != nil else {
                throw .invalidArgument(
                    "Invalid value at 'enrolledAt': not a date within \(RequestDate.acceptedRangeText)"
                )
            }
            factors.append(
                SecondFactor(
                    id: givenID ?? ids.alphanumerics(28),
                    displayName: entry["displayName"]?.string,
                    enrolled: enrolled ?? now,
                    phoneNumber: phone
                )
            )
        }
        return factors
    }
}
