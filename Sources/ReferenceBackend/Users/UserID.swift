/// An ID of a user, which equals another ID only if all their bytes are equal.
///
/// RevenueCat's IDs are case-sensitive strings (RevenueCat fact sheet, section 5.1). Swift's `==`
/// treats `é` in one code point and in two as equal, so it would join two users.
struct UserID: Hashable, Sendable {
    let text: String

    init(_ text: String) { self.text = text }

    static func == (left: UserID, right: UserID) -> Bool {
        left.text.utf8.elementsEqual(right.text.utf8)
    }

    func hash(into hasher: inout Hasher) {
        for byte in text.utf8 { hasher.combine(byte) }
    }
}
