internal import Grammar
internal import Values

extension Delivery.Edit {
    /// The values of one edit, collected while the file is parsed.
    struct EditDraft: Sendable {
        var pointer = JSONPointer()
        var value: JSONValue?

        init() {}

        init(_ edit: Delivery.Edit) {
            pointer = edit.pointer
            value = edit.value
        }
    }

    static let grammar = Construct<EditDraft>(
        "edit",
        "an edit",
        "One change of a body.",
        makeEmptyOwner: { _ in EditDraft() }
    ) {
        Field(
            KeyShape("set", .pointer, "The location to set."),
            read: { node, draft, reader in draft.pointer = reader.pointer(node) ?? draft.pointer },
            write: { $0.value == nil ? nil : Syntax.pointer.write($0.pointer) }
        )
        Field.optional("to", \.value, .json.templated(.request), "The new value for `set`.")
        Field(
            KeyShape("remove", .pointer, "The location to remove."),
            read: { node, draft, reader in draft.pointer = reader.pointer(node) ?? draft.pointer },
            write: { $0.value == nil ? Syntax.pointer.write($0.pointer) : nil }
        )
    }
    .alternativeKeys(["set", "remove"], example: "set: /event/price")
    .companionKeys("to", ["set"])
    .companionKeys("set", ["to"])
}
