/// A JSON number exactly as it was written.
///
/// `0`, `0.0` and `0.00` are equal and remain three spellings, because providers send all of them
/// (RevenueCat fact sheet, section 2.5) and a body that is signed must not be respelled.
package struct JSONNumber: Hashable, Sendable, CustomStringConvertible {
    /// The literal, valid by RFC 8259.
    package let description: String

    /// Takes a literal that the parser has already checked.
    init(checked literal: String) {
        description = literal
    }

    package init(_ integer: some FixedWidthInteger) {
        description = String(integer)
    }

    /// Writes a finite value; JSON has no spelling for the others, so they become `0`.
    package init(_ value: Double) {
        guard value.isFinite else {
            description = "0"
            return
        }
        description =
            value == value.rounded() && abs(value) < 1e15 ? String(Int64(value)) : "\(value)"
    }

    /// The value as a 64-bit integer, when it is one exactly; `1.0` and `1e3` count.
    package var int64: Int64? {
        if let plain = Int64(description) { return plain }
        let parts = decimal
        guard parts.exponent >= 0, parts.exponent <= 19 else { return nil }
        let digits = parts.digits.isEmpty ? "0" : parts.digits
        let text = (parts.isNegative ? "-" : "") + digits
        return Int64(text + String(repeating: "0", count: parts.exponent))
    }

    package var double: Double? { Double(description) }

    package static func == (left: JSONNumber, right: JSONNumber) -> Bool {
        left.description == right.description || left.decimal == right.decimal
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(decimal)
    }

    /// Sign, significant digits without zeros at either end, and the power of ten behind them.
    private struct Decimal: Hashable {
        var isNegative = false
        var digits = ""
        var exponent = 0
    }

    private var decimal: Decimal {
        var result = Decimal()
        var digits: [UInt8] = []
        var exponent = 0
        var isFraction = false
        var exponentText = ""
        var isExponent = false
        for byte in description.utf8 {
            switch byte {
            case UInt8(ascii: "e"), UInt8(ascii: "E"): isExponent = true
            case _ where isExponent: exponentText.append(Character(Unicode.Scalar(byte)))
            case UInt8(ascii: "-"): result.isNegative = true
            case UInt8(ascii: "."): isFraction = true
            default:
                digits.append(byte)
                if isFraction { exponent -= 1 }
            }
        }
        if exponentText.hasPrefix("+") { exponentText.removeFirst() }
        // An exponent beyond Int is kept as text, so that two such numbers compare by spelling.
        guard let written = exponentText.isEmpty ? 0 : Int(exponentText),
            !exponent.addingReportingOverflow(written).overflow
        else {
            return Decimal(isNegative: result.isNegative, digits: description, exponent: 0)
        }
        exponent += written
        let leading = digits.firstIndex { $0 != UInt8(ascii: "0") } ?? digits.endIndex
        digits.removeSubrange(..<leading)
        while digits.last == UInt8(ascii: "0") {
            digits.removeLast()
            exponent += 1
        }
        guard !digits.isEmpty else { return Decimal() }
        result.digits = String(decoding: digits, as: UTF8.self)
        result.exponent = exponent
        return result
    }
}
