internal import Providers
internal import Values

/// The API operations of the real services, and their support in the fakes, as `assay coverage`
/// prints them.
struct ServiceCoverage {
    /// The operations of one API, each with its support status in the fake.
    private struct ServiceInterface {
        let title: String
        let operations: [ServiceOperation]

        var describedOperations: [ServiceOperation] { operations.filter(\.isInAPIDescription) }

        func count(_ supportStatus: ServiceOperation.SupportStatus) -> Int {
            describedOperations.count { $0.supportStatus == supportStatus }
        }
    }

    let providers: [ProviderEntry]

    private var interfaces: [(provider: ProviderEntry, interface: ServiceInterface)] {
        providers.flatMap { provider -> [(ProviderEntry, ServiceInterface)] in
            let operations = provider.operations()
            var interfaceNames: [String] = []
            for name in operations.map(\.interface) where !interfaceNames.contains(name) {
                interfaceNames.append(name)
            }
            return interfaceNames.map { name in
                let interfaceOperations = operations.filter { $0.interface == name }
                return (provider, ServiceInterface(title: name, operations: interfaceOperations))
            }
        }
    }

    /// Returns the number of operations of each API, and then a line for every operation.
    ///
    /// - Parameter lineLengthMax: The largest length of a line in characters; nil for no limit.
    /// - Returns: The lines, each ending with a newline.
    func text(_ lineLengthMax: Int?) -> String {
        var text = ""
        let titles = interfaces.map { "\($0.provider.title) \($0.interface.title)" }
        let width = (titles.map(\.count).max() ?? 0) + 2
        for (title, serviceEntry) in zip(titles, interfaces) {
            let interface = serviceEntry.interface
            let supportStatusCounts = ServiceOperation.SupportStatus.allCases.map { supportStatus in
                (supportStatus, interface.count(supportStatus))
            }.filter { $0.1 > 0 }.map { "\($0.1) \($0.0.rawValue)" }
            let validatedCount = interface.describedOperations.count { $0.isValidated }
            let olderOperationCount =
                interface.operations.count - interface.describedOperations.count
            text +=
                title.padded(to: width) + "\(interface.describedOperations.count) operations: "
                + supportStatusCounts.joined(separator: ", ")
                + (validatedCount > 0
                    ? ", \(validatedCount) checked against the API description" : "")
                + (olderOperationCount > 0 ? "; \(olderOperationCount) older" : "") + "\n"
        }
        for (title, serviceEntry) in zip(titles, interfaces) {
            text += "\n\(title)\n"
            // Consecutive operations with the same deviation from the real API print it once.
            var lastDeviation: String?
            for operation in serviceEntry.interface.operations {
                let linePrefix =
                    "  " + operation.supportStatus.rawValue.padded(to: 9)
                    + operation.method.padded(to: 7)
                let path = operation.path + (operation.isInAPIDescription ? "" : "  (older)")
                let indent = "\n" + String(repeating: " ", count: linePrefix.count + 2)
                text +=
                    linePrefix
                    + Self.wrappedPathLines(path, lineLengthMax.map { $0 - linePrefix.count - 2 })
                    .joined(separator: indent) + "\n"
                if let deviation = operation.deviation, deviation != lastDeviation {
                    text += "           \(deviation)\n"
                }
                lastDeviation = operation.deviation
            }
        }
        return text
    }

    /// Breaks a path that is longer than `lineLengthMax` characters into lines that begin with a slash.
    private static func wrappedPathLines(_ path: String, _ lineLengthMax: Int?) -> [String] {
        guard let lineLengthMax, path.count > lineLengthMax else { return [path] }
        let breakIndex = path.prefix(max(lineLengthMax, 20)).lastIndex(of: "/") ?? path.startIndex
        guard breakIndex > path.startIndex else { return [path] }
        return [String(path[..<breakIndex])]
            + wrappedPathLines(String(path[breakIndex...]), lineLengthMax)
    }

    var json: JSONValue {
        .array(
            interfaces.flatMap { provider, interface in
                interface.operations.map { operation -> JSONValue in
                    .object(
                        .present([
                            ("service", .string(provider.party.description)),
                            ("interface", .string(interface.title)),
                            ("method", .string(operation.method)),
                            ("path", .string(operation.path)),
                            ("standing", .string(operation.supportStatus.rawValue)),
                            ("described", .bool(operation.isInAPIDescription)),
                            ("validated", .bool(operation.isValidated)),
                            ("deviation", operation.deviation.map(JSONValue.string)),
                        ])
                    )
                }
            }
        )
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(1, width - count))
    }
}
