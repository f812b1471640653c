/// The error for a request that the fake Despia runtime cannot carry out, with a message for the
/// user who sent it.
struct DespiaRefusal: Error {
    let status: Int
    let text: String

    init(_ status: Int, _ text: String) {
        self.status = status
        self.text = text
    }
}
