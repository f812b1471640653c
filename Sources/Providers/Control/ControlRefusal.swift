/// A call of the control API that cannot be carried out: what is wrong, and what to type next.
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
