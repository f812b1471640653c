package import Conformance

/// Reads a contract file: one contract for every combination of its axes.
package enum ContractParser {
    /// All variants, or every error that was found.
    ///
    /// - Parameters:
    ///   - text: The file's text.
    ///   - path: The file's path, for error messages.
    ///   - id: What the contract must be called: its path below the contracts folder.
    ///   - isExamined: Nobody need be told of misspelt templates, idle axes or steps that nobody plays.
    /// - Returns: The variants in the order of their axes, or the errors in the order of their lines.
    package static func parse(
        _ text: String,
        path: String,
        id: String,
        isExamined: Bool = false
    ) -> Result<[Contract], ContractErrors> {
        do throws(ContractError) {
            let root = try LocatedNode(parsing: text, path: path)
            let lines = isExamined ? [] : LocatedNode.lines(of: text)
            return parse(root, id: id, lines: lines, isExamined: isExamined)
        } catch {
            return .failure(ContractErrors([error]))
        }
    }

    /// The same from a tree.
    ///
    /// - Parameters:
    ///   - root: The tree of a contract file.
    ///   - id: What the contract must be called.
    ///   - lines: The file's lines; without them a caret stands at a text, not at a template in it.
    ///   - isExamined: The same as for a text.
    /// - Returns: The same as for a text.
    package static func parse(
        _ root: LocatedNode,
        id: String,
        lines: [String] = [],
        isExamined: Bool = false
    ) -> Result<[Contract], ContractErrors> {
        var reader = NodeReader()
        let axes = VariantAxes(root, &reader, isExamined: isExamined)
        let templates = isExamined ? nil : TemplateChecks(contract: root, lines: lines)
        var errors = reader.errors + (templates?.errors ?? [])
        var contracts: [Contract] = []
        // The axes are read with the first variant: each holds as many values as there are variants.
        var unread = root
        for combination in axes.combinations {
            let filled = unread.filling(combination.map { ($0.name, $0.value) })
            if case .mapping(let entries) = unread.content {
                unread = LocatedNode(
                    .mapping(entries.filter { $0.key != "variants" }),
                    unread.location
                )
            }
            var reader = NodeReader()
            if var contract = Contract(filled, id: id, &reader, isExamined: isExamined) {
                contract.variant = combination.map { "\($0.name):\($0.value)" }
                    .joined(separator: ",")
                contracts.append(contract)
            }
            for error in reader.errors
            where !errors.contains(error) && templates?.places.contains(error.location) != true {
                errors.append(error)
            }
        }
        return errors.isEmpty ? .success(contracts) : .failure(ContractErrors(errors))
    }
}

extension Contract {
    /// One variant, from a tree whose axes have been filled in.
    fileprivate init?(
        _ root: LocatedNode,
        id: String,
        _ reader: inout NodeReader,
        isExamined: Bool
    ) {
        guard var contract = Contract.grammar.read(root, &reader) else { return nil }
        if !contract.id.isEmpty, contract.id != id, let node = root["contract"] {
            reader.fail(.wrongID(contract.id, expected: id), at: node.location)
        }
        contract = contract.crashing(reader.crashes)
        contract.places = StepPlaces(reader.places)
        for refusal in isExamined ? [] : Cast.refusals(ofAny: contract) {
            reader.fail(.conflict(refusal.problem, remedy: refusal.remedy), at: refusal.location)
        }
        self = contract
    }
}

/// The axes of a contract file and their values.
private struct VariantAxes {
    private var axes: [(name: String, values: [String])] = []

    init(_ root: LocatedNode, _ reader: inout NodeReader, isExamined: Bool) {
        guard let variants = root["variants"] else { return }
        let rest = root.entries.filter { $0.key != "variants" }
        for axis in reader.entries(variants) ?? [] {
            let values = reader.sequence(axis.value).compactMap { reader.text($0) }
            if values.isEmpty, case .sequence = axis.value.content {
                reader.fail(
                    .wrongKind(expected: "a list with values", found: axis.value.kind),
                    at: axis.value.location
                )
            }
            let names = TemplateNames.Axis(name: axis.key, values: values)
            if !isExamined, !values.isEmpty, !rest.contains(where: { $0.value.uses(names) }) {
                reader.fail(
                    .conflict(
                        "nothing uses the axis '\(axis.key)'",
                        remedy: "Write {{\(axis.key)}} where its values belong, or remove it."
                    ),
                    at: axis.keyLocation
                )
            }
            axes.append((axis.key, values))
        }
    }

    var combinations: [[(name: String, value: String)]] {
        axes.reduce([[]]) { partial, axis in
            partial.flatMap { prefix in axis.values.map { prefix + [(axis.name, $0)] } }
        }
    }
}

extension LocatedNode {
    /// Whether the axis stands anywhere in it, in a key or in a value.
    fileprivate func uses(_ axis: TemplateNames.Axis) -> Bool {
        func names(_ text: String) -> Bool {
            Template(text).names.contains { $0.hasPrefix(axis.name) }
        }
        return switch content {
        case .scalar(let text, _): names(text)
        case .sequence(let elements): elements.contains { $0.uses(axis) }
        case .mapping(let entries):
            entries.contains { names($0.key) || $0.value.uses(axis) }
        }
    }
}
