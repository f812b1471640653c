/// A JSON number that keeps the spelling that it has in the document.
///
/// The numbers `0`, `0.0` and `0.00` are equal but keep their three spellings. Providers send all
/// of these spellings (RevenueCat fact sheet, section 2.5), and the bytes of a signed body must not
/// change.
package struct JSONNumber: Hashable, Sendable, CustomStringConvertible {
    /// The spelling of the number, which is valid by RFC 8259.
    package let description: String

    /// Creates a number from a literal that the parser has validated.
    init(checked literal: String) {
        description = literal
    }

    package init(_ integer: some FixedWidthInteger) {
        description = String(integer)
    }

    /// Creates a number from a floating-point value; infinities and NaN become `0`, because JSON
    /// cannot express them.
    package init(_ value: Double) {
        guard value.isFinite else {
            description = "0"
            return
        }
        description =
            value == value.rounded() && abs(value) < 1e15 ? String(Int64(value)) : "\(value)"
    }

    /// The number as a 64-bit integer, or nil when it is not a whole number in that range; `1.0`
    /// and `1e3` are whole numbers.
    package var int64: Int64? {
        if let plain = Int64(description) { return plain }
        let decimalParts = decimal
        guard decimalParts.exponent >= 0, decimalParts.exponent <= 19 else { return nil }
        let digits = decimalParts.digits.isEmpty ? "0" : decimalParts.digits
        let text = (decimalParts.isNegative ? "-" : "") + digits
        return Int64(text + String(repeating: "0", count: decimalParts.exponent))
    }

    package var double: Double? { Double(description) }

    package static func == (left: JSONNumber, right: JSONNumber) -> Bool {
        left.description == right.description || left.decimal == right.decimal
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(decimal)
    }

    /// The value of a number, independent of its spelling: the sign, the significant digits without
    /// zeros at either end, and the exponent of ten.
    private struct Decimal: Hashable {
        var isNegative = false
        var digits = ""
        var exponent = 0
    }

    private var decimal: Decimal {
        var parsedDecimal = Decimal()
        var digits: [UInt8] = []
        var exponent = 0
        var isAfterDecimalPoint = false
        var exponentText = ""
        var isInExponent = false
        for byte in description.utf8 {
            switch byte {
            case UInt8(ascii: "e"), UInt8(ascii: "E"): isInExponent = true
            case _ where isInExponent: exponentText.append(Character(Unicode.Scalar(byte)))
            case UInt8(ascii: "-"): parsedDecimal.isNegative = true
            case UInt8(ascii: "."): isAfterDecimalPoint = true
            default:
                digits.append(byte)
                if isAfterDecimalPoint { exponent -= 1 }
            }
        }
        if exponentText.hasPrefix("+") { exponentText.removeFirst() }
        // Numbers with an exponent beyond the range of `Int` are compared by their spelling.
        guard let exponentInText = exponentText.isEmpty ? 0 : Int(exponentText),
            !exponent.addingReportingOverflow(exponentInText).overflow
        else {
            return Decimal(isNegative: parsedDecimal.isNegative, digits: description, exponent: 0)
        }
        exponent += exponentInText
        let firstSignificantIndex = digits.firstIndex { $0 != UInt8(ascii: "0") } ?? digits.endIndex
        digits.removeSubrange(..<firstSignificantIndex)
        while digits.last == UInt8(ascii: "0") {
            digits.removeLast()
            exponent += 1
        }
        guard !digits.isEmpty else { return Decimal() }
        parsedDecimal.digits = String(decoding: digits, as: UTF8.self)
        parsedDecimal.exponent = exponent
        return parsedDecimal
    }
}
