internal import Contracts
internal import Providers
internal import Values

/// Writes a customer history as a `.history` file that people can read and edit, and reads such
/// files.
///
/// ```
/// history 1
/// person ada registered
/// operation 0 -2d ada purchase product=premium_monthly store=APP_STORE
/// operation 1 -1d ada cancel product=premium_monthly quiet
/// fault 1.0 delayed 2
/// ```
package enum HistoryText {
    /// The version of the `.history` format.
    ///
    /// A new version means that files of older versions have another meaning.
    package static let version = 1
    package static let fileExtension = "history"
    /// The maximum number of operations in one file.
    private static let operationsMax = 1000

    /// The first error in a `.history` file, with its line number.
    package struct ParseError: Error, Hashable, Sendable, CustomStringConvertible {
        package let line: Int
        package let problem: String
        /// Whether the only error is that the file has another version of the format.
        package var isVersionMismatch = false

        package var description: String { "line \(line): \(problem)" }
    }

    // MARK: Writing

    package static func text(_ history: CustomerHistory) -> String {
        var lines = ["history \(version)"]
        for person in history.users {
            lines.append("person \(person.name) \(person.arrival.rawValue)")
        }
        if history.hasBaseline { lines.append("baseline") }
        for step in history.steps { lines.append(line(step)) }
        for placedFault in history.placedFaults {
            lines.append(
                "fault \(placedFault.operation).\(placedFault.event) \(words(placedFault.fault))"
            )
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func line(_ step: CustomerHistory.Step) -> String {
        let operation = step.operation
        var words = [
            "operation", "\(step.id)", operation.time.contractText, operation.user,
            operation.kind.rawValue,
        ]
        let keyedDetails: [(String, String?)] = [
            ("from", operation.from), ("also", operation.additionalID),
            ("product", operation.product),
            ("to", operation.newProduct), ("store", operation.store),
            ("environment", operation.environment),
            ("period", operation.period),
            ("reason", operation.reason), ("span", operation.effectDuration?.unsignedText),
            ("type", operation.type),
            ("known-by", operation.userIDLocation),
        ]
        for (key, value) in keyedDetails { if let value { words.append("\(key)=\(value)") } }
        if operation.isDeferred { words.append("deferred") }
        if step.readsStateAfterStep { words.append("quiet") }
        return words.joined(separator: " ")
    }

    private static func words(_ fault: HistoryFault) -> String {
        let kind = fault.kind.rawValue
        return switch fault {
        case .duplicate(let count), .concurrentDuplicate(let count), .redelivery(after: let count),
            .delayed(by: let count), .lostResponses(let count), .truncatedRequests(let count),
            .disconnects(let count):
            "\(kind) \(count)"
        case .serviceError(_, let providerResponse):
            "\(kind) \(providerResponse.notation)"
        case .restart(let signal): "\(kind) \(signal.rawValue)"
        case .crash(let crash): "\(kind) \(crash.signal.rawValue) \(crash.phase.rawValue)"
        case .unknownType, .unknownFields, .reorderedKeys, .register, .overlap,
            .registrationOverlap:
            kind
        }
    }

    // MARK: Reading

    /// Reads a customer history from the content of a file.
    ///
    /// - Parameters:
    ///   - text: The content of a `.history` file.
    ///   - sellers: The sellers of the operations.
    /// - Returns: The history. It may still be impossible in real stores.
    /// - Throws: An error with the number of the first invalid line and the valid forms of this
    ///   line.
    package static func history(_ text: String, _ sellers: SellerTable = .all)
        throws(ParseError) -> CustomerHistory
    {
        var history = CustomerHistory(users: [], steps: [], sellers: sellers)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let headerLine = lines.first.map(String.init) ?? ""
        guard headerLine == "history \(version)" else {
            let words = headerLine.split(separator: " ")
            let isHistoryHeader = words.count == 2 && words[0] == "history" && Int(words[1]) != nil
            throw ParseError(
                line: 1,
                problem: isHistoryHeader
                    ? "the first line is '\(headerLine)', not 'history \(version)': another version of Assay wrote the file"
                    : "the first line of the file must be 'history \(version)'",
                isVersionMismatch: isHistoryHeader
            )
        }
        for (index, line) in lines.enumerated().dropFirst() where !line.isEmpty {
            do throws(LineError) {
                try parseLine(line.split(separator: " ").map(String.init), into: &history)
            } catch {
                throw ParseError(line: index + 1, problem: error.problem)
            }
        }
        guard !history.steps.isEmpty, history.steps.count <= operationsMax else {
            let problem =
                history.steps.isEmpty
                ? "the history has no operation; add a line 'operation 0 -2d NAME purchase'"
                : "the history has more than \(operationsMax) operations"
            throw ParseError(line: lines.count, problem: problem)
        }
        if let problem = history.undeclaredNameProblem {
            throw ParseError(line: lines.count, problem: problem)
        }
        return history
    }

    private struct LineError: Error {
        let problem: String
    }

    private static func parseLine(_ words: [String], into history: inout CustomerHistory)
        throws(LineError)
    {
        switch words.first {
        case "person":
            guard words.count == 3,
                let arrival = CustomerHistory.RegistrationStatus(rawValue: words[2])
            else {
                throw LineError(problem: "write 'person NAME registered' or 'person NAME unknown'")
            }
            guard isValidName(words[1]), history.person(words[1]) == nil else {
                throw LineError(
                    problem: "the name '\(words[1])' is already used, or has characters other than "
                        + "letters, digits, '-', '_' and '.'"
                )
            }
            history.users.append(CustomerHistory.HistoryUser(words[1], arrival))
        case "baseline": history.hasBaseline = true
        case "operation": history.steps.append(try step(words, history.sellers))
        case "fault": history.placedFaults.append(try placedFault(words))
        default:
            throw LineError(
                problem:
                    "a line cannot begin with '\(words.first ?? "")'; use person, baseline, operation or fault"
            )
        }
    }

    /// Returns whether a string consists only of ASCII letters, digits and `-_.`, so that a
    /// contract reads the string as a name.
    private static func isValidName(_ text: String) -> Bool {
        !text.isEmpty
            && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-_.".contains($0)) }
    }

    private static func step(_ words: [String], _ sellers: SellerTable) throws(LineError)
        -> CustomerHistory.Step
    {
        guard words.count >= 5, let id = Int(words[1]),
            let time = Duration(contractText: words[2])
        else {
            throw LineError(
                problem: "write 'operation NUMBER TIME NAME KIND …', with a time such as "
                    + "-2d or -90m"
            )
        }
        guard let kind = HistoryOperation.Kind(rawValue: words[4]) else {
            let kindNames = HistoryOperation.Kind.allCases.map(\.rawValue).joined(separator: ", ")
            throw LineError(problem: "'\(words[4])' is not an operation; use one of \(kindNames)")
        }
        var step = CustomerHistory.Step(
            id: id,
            operation: HistoryOperation(kind, words[3], at: time),
            readsStateAfterStep: false
        )
        for word in words.dropFirst(5) {
            if word == "quiet" {
                step.readsStateAfterStep = true
            } else if word == "deferred" {
                step.operation.isDeferred = true
            } else {
                let keyAndValue = word.split(separator: "=", maxSplits: 1).map(String.init)
                guard keyAndValue.count == 2, isValidName(keyAndValue[1].filter { $0 != ":" }),
                    step.operation.setDetail(keyAndValue[0], to: keyAndValue[1], sellers)
                else {
                    throw LineError(
                        problem:
                            "'\(word)' is not a valid detail of an operation; write KEY=VALUE, such as span=7d"
                    )
                }
            }
        }
        return step
    }

    private static func placedFault(_ words: [String]) throws(LineError)
        -> CustomerHistory.PlacedFault
    {
        let operationAndEvent =
            words.count > 1 ? words[1].split(separator: ".").compactMap { Int($0) } : []
        guard operationAndEvent.count == 2, words.count >= 3,
            let fault = HistoryFault(words: Array(words.dropFirst(2)))
        else {
            throw LineError(
                problem: "write 'fault OPERATION.EVENT KIND …', such as 'fault 1.0 delayed 2'"
            )
        }
        return CustomerHistory.PlacedFault(
            operation: operationAndEvent[0],
            event: operationAndEvent[1],
            fault
        )
    }
}

extension CustomerHistory {
    /// The error for the first user name that an operation contains and no `person` line declares;
    /// nil without such a name.
    fileprivate var undeclaredNameProblem: String? {
        let names = steps.flatMap(\.operation.users)
        return names.first { person($0) == nil }.map {
            "'\($0)' has an operation but no person line; add 'person \($0) registered'"
        }
    }
}

extension HistoryOperation {
    /// Sets a detail of the operation from a `key=value` pair.
    ///
    /// Returns false when the key does not exist or does not accept the value.
    fileprivate mutating func setDetail(
        _ key: String,
        to value: String,
        _ sellers: SellerTable
    ) -> Bool {
        switch key {
        case "from": from = value
        case "also": additionalID = value
        case "product": product = value
        case "to": newProduct = value
        case "store": store = value
        case "environment": environment = value
        case "period": period = value
        case "reason": reason = value
        case "type": type = value
        case "span":
            guard let effectDuration = Duration(contractText: value) else { return false }
            self.effectDuration = effectDuration
        case "known-by":
            guard sellers.userIDLocations.contains(value) else { return false }
            userIDLocation = value
        default: return false
        }
        return true
    }
}

extension HistoryFault {
    /// Creates a fault from the words of a `fault` line; nil when the words are not a fault.
    fileprivate init?(words: [String]) {
        guard let kind = words.first.flatMap(Kind.init) else { return nil }
        let arguments = Array(words.dropFirst())
        let countArgument =
            arguments.count == 1
            ? Int(arguments[0]).flatMap { (1...100).contains($0) ? $0 : nil } : nil
        let providerResponse = ProviderPlan.PlannedResponse(
            notation: arguments.joined(separator: " ")
        )
        let signal = arguments.first.flatMap(Restart.Signal.init)
        let fault: HistoryFault? =
            switch kind {
            case .duplicate: countArgument.map(HistoryFault.duplicate)
            case .concurrentDuplicate: countArgument.map(HistoryFault.concurrentDuplicate)
            case .redelivery: countArgument.map(HistoryFault.redelivery)
            case .delayed: countArgument.map(HistoryFault.delayed)
            case .lostResponses: countArgument.map(HistoryFault.lostResponses)
            case .truncatedRequests: countArgument.map(HistoryFault.truncatedRequests)
            case .disconnects: countArgument.map(HistoryFault.disconnects)
            case .serviceError(let error):
                providerResponse.map { HistoryFault.serviceError(error, $0) }
            case .unknownType: arguments.isEmpty ? .unknownType : nil
            case .unknownFields: arguments.isEmpty ? .unknownFields : nil
            case .reorderedKeys: arguments.isEmpty ? .reorderedKeys : nil
            case .register: arguments.isEmpty ? .register : nil
            case .overlap: arguments.isEmpty ? .overlap : nil
            case .registrationOverlap: arguments.isEmpty ? .registrationOverlap : nil
            case .restart: arguments.count == 1 ? signal.map(HistoryFault.restart) : nil
            case .crash:
                if arguments.count == 2, let signal, let phase = Crash.Phase(rawValue: arguments[1])
                {
                    .crash(Crash(signal: signal, phase: phase))
                } else {
                    nil
                }
            }
        guard let fault else { return nil }
        self = fault
    }
}
