package import Contracts
package import Grammar

/// Parses contract files.
///
/// Each combination of the values under the key `variants` becomes a separate contract.
package enum ContractParser {
    /// Parses the content of a contract file.
    ///
    /// - Parameters:
    ///   - text: The content of the file.
    ///   - path: The path of the file, for error messages.
    ///   - id: The expected ID of the contract: its path below the contracts folder.
    ///   - hasPassedChecks: Whether the file has passed all checks before. If so, the checks for
    ///     misspelled templates, unused keys of `variants` and steps that cannot run are skipped.
    /// - Returns: A contract for each variant, in the order of the values in the file, or all
    ///   errors in the order of their lines.
    package static func parse(
        _ text: String,
        path: String,
        id: String,
        hasPassedChecks: Bool = false
    ) -> Result<[Contract], ContractErrors> {
        do throws(ContractError) {
            let root = try LocatedNode(parsing: text, path: path)
            let lines = hasPassedChecks ? [] : LocatedNode.lines(of: text)
            return parse(root, id: id, lines: lines, hasPassedChecks: hasPassedChecks)
        } catch {
            return .failure(ContractErrors([error]))
        }
    }

    /// Parses the contracts in the YAML tree of a contract file.
    ///
    /// - Parameters:
    ///   - root: The YAML tree of the file.
    ///   - id: The expected ID of the contract.
    ///   - lines: The lines of the file. Without them, an error about a template marks the whole
    ///     string.
    ///   - hasPassedChecks: Whether the file has passed the checks for typical mistakes before, so that
    ///     they are skipped.
    /// - Returns: A contract for each variant, or all errors in the file.
    package static func parse(
        _ root: LocatedNode,
        id: String,
        lines: [String] = [],
        hasPassedChecks: Bool = false
    ) -> Result<[Contract], ContractErrors> {
        var reader = NodeReader()
        let axes = VariantAxes(root, &reader, hasPassedChecks: hasPassedChecks)
        let templateChecks = hasPassedChecks ? nil : TemplateChecks(contract: root, lines: lines)
        var errors = reader.errors + (templateChecks?.errors ?? [])
        var contracts: [Contract] = []
        // The key `variants` is removed after the first variant, because reading all its values for
        // each variant would take long.
        var uninstantiatedRoot = root
        for combination in axes.combinations {
            let instantiatedNode = uninstantiatedRoot.replacingAxes(combination)
            if case .mapping(let entries) = uninstantiatedRoot.content {
                uninstantiatedRoot = LocatedNode(
                    .mapping(entries.filter { $0.key != "variants" }),
                    uninstantiatedRoot.location
                )
            }
            var reader = NodeReader()
            if var contract = Contract(
                instantiatedNode,
                id: id,
                &reader,
                hasPassedChecks: hasPassedChecks
            ) {
                contract.variant = combination.map { "\($0.axisName):\($0.text)" }
                    .joined(separator: ",")
                contracts.append(contract)
            }
            for error in reader.errors
            where !errors.contains(error)
                && templateChecks?.sourceLocations.contains(error.location) != true
            {
                errors.append(error)
            }
        }
        return errors.isEmpty ? .success(contracts) : .failure(ContractErrors(errors))
    }
}

extension Contract {
    /// Reads one variant of a contract from a YAML tree in which values have replaced the templates
    /// of `variants`.
    fileprivate init?(
        _ root: LocatedNode,
        id: String,
        _ reader: inout NodeReader,
        hasPassedChecks: Bool
    ) {
        guard var contract = Contract.grammar.read(root, &reader) else { return nil }
        if !contract.id.isEmpty, contract.id != id, let node = root["contract"] {
            reader.fail(.wrongID(contract.id, expected: id), at: node.location)
        }
        contract = contract.addingCrashes(reader.crashesByDelivery)
        contract.sourceLocations = StepLocations(reader.sourceLocations)
        for unsupportedElement in hasPassedChecks
            ? [] : Executors.unsupportedElements(ofAny: contract)
        {
            reader.fail(
                .conflict(unsupportedElement.problem, remedy: unsupportedElement.remedy),
                at: unsupportedElement.location
            )
        }
        self = contract
    }
}

/// The axes of a contract file, which are the keys under `variants`, with the values of each axis.
private struct VariantAxes {
    private var axes: [[AxisValue]] = []

    init(_ root: LocatedNode, _ reader: inout NodeReader, hasPassedChecks: Bool) {
        guard let variants = root["variants"] else { return }
        let entriesWithoutVariants = root.entries.filter { $0.key != "variants" }
        for axis in reader.entries(variants) ?? [] {
            let values = reader.sequence(axis.value).compactMap { value in
                reader.text(value).map {
                    AxisValue(axisName: axis.key, text: $0, isPlain: value.isPlain)
                }
            }
            if values.isEmpty, case .sequence = axis.value.content {
                reader.fail(
                    .wrongValueKind(expected: "a list with values", found: axis.value.kind),
                    at: axis.value.location
                )
            }
            let names = TemplateNames.Axis(name: axis.key, values: values.map(\.text))
            if !hasPassedChecks, !values.isEmpty,
                !entriesWithoutVariants.contains(where: { $0.value.uses(names) })
            {
                reader.fail(
                    .conflict(
                        "no step or expectation uses the axis '\(axis.key)' of 'variants'",
                        remedy: "Write {{\(axis.key)}} where its values belong, or remove it."
                    ),
                    at: axis.keyLocation
                )
            }
            axes.append(values)
        }
    }

    var combinations: [[AxisValue]] {
        axes.reduce([[]]) { partial, values in
            partial.flatMap { prefix in values.map { prefix + [$0] } }
        }
    }
}

extension LocatedNode {
    /// Returns whether a key or a value in the YAML tree contains the template of an axis of
    /// `variants`.
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
