/// An error response of the control API: its HTTP status, a description of the problem, and a hint
/// at what to type instead.
package struct ControlRefusal: Error, Hashable, Sendable {
    package let status: Int
    package let text: String
    package var hint: String?

    package init(_ status: Int = 400, _ text: String, hint: String? = nil) {
        self.status = status
        self.text = text
        self.hint = hint
    }
}
