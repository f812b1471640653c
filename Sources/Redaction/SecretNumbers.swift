/// Card, account and phone numbers, which the scan recognizes by their checksum or their form.
extension SecretPatterns {
    /// Returns the end of a phone number with separators that begins with `+` at `start`; nil when
    /// none begins there.
    static func phoneEnd(in bytes: [UInt8], at start: Int) -> Int? {
        guard bytes[start] == UInt8(ascii: "+") else { return nil }
        var digits = 0
        var index = start + 1
        var end = index
        while index < bytes.count {
            if (48...57).contains(bytes[index]) {
                if digits == 0, bytes[index] == 48 { return nil }
                digits += 1
                end = index + 1
            } else if !" -().".utf8.contains(bytes[index]) || index - end > 1 {
                break
            }
            index += 1
        }
        return (9...15).contains(digits) ? end : nil
    }

    static let ibanLengthMin = 15

    /// Whether the word is an IBAN with valid check digits (ISO 13616).
    static func isIBAN(_ word: ArraySlice<UInt8>) -> Bool {
        guard (ibanLengthMin...34).contains(word.count),
            word.prefix(2).allSatisfy({ (65...90).contains($0) }),
            word.dropFirst(2).prefix(2).allSatisfy({ (48...57).contains($0) }),
            word.allSatisfy({ (48...57).contains($0) || (65...90).contains($0) })
        else { return false }
        var rest = 0
        for byte in word.dropFirst(4) + word.prefix(4) {
            let value = byte >= 65 ? Int(byte) - 55 : Int(byte) - 48
            rest = (rest * (value > 9 ? 100 : 10) + value) % 97
        }
        return rest == 1
    }

    /// Returns the end of a card number that begins at `start`; nil when none begins there.
    ///
    /// A card number has 13 to 19 digits in groups, the prefix and length of an issuer, and a valid
    /// check digit (ISO/IEC 7812).
    static func cardEnd(in bytes: [UInt8], at start: Int) -> Int? {
        guard (UInt8(ascii: "2")...UInt8(ascii: "6")).contains(bytes[start]) else { return nil }
        var digits: [Int] = []
        var matchEnd: Int?
        var index = start
        var isGrouped = false
        while digits.count < 20 {
            if index < bytes.count, (48...57).contains(bytes[index]) {
                digits.append(Int(bytes[index]) - 48)
                index += 1
                continue
            }
            // This is the end of a group of digits; further groups may follow that do not belong to
            // the card number. Without groups, 16 digits are required, because purchase numbers
            // have 15 digits.
            let isLong = isGrouped || digits.count == 16
            if isLong, hasCardIssuerPrefix(digits), hasCheckDigit(digits) { matchEnd = index }
            guard index + 1 < bytes.count, bytes[index] == 0x20 || bytes[index] == 0x2d,
                (48...57).contains(bytes[index + 1])
            else { break }
            isGrouped = true
            index += 1
        }
        return matchEnd
    }

    /// Returns the end of an IBAN in groups of four characters that begins at `start`, such as
    /// `DE89 3704 0044 …`; nil when none begins there.
    static func ibanEnd(in bytes: [UInt8], at start: Int) -> Int? {
        guard start + 4 < bytes.count, bytes[start + 4] == 0x20,
            (65...90).contains(bytes[start]), (65...90).contains(bytes[start + 1]),
            (48...57).contains(bytes[start + 2]), (48...57).contains(bytes[start + 3])
        else { return nil }
        var ibanBytes: [UInt8] = []
        var matchEnd: Int?
        var index = start
        while index < bytes.count, ibanBytes.count <= 34 {
            if (48...57).contains(bytes[index]) || (65...90).contains(bytes[index]) {
                ibanBytes.append(bytes[index])
                index += 1
                let isWordEnd = index == bytes.count || !isKeyByte(bytes[index])
                if isWordEnd, isIBAN(ibanBytes[...]) { matchEnd = index }
            } else if bytes[index] == 0x20 {
                index += 1
            } else {
                break
            }
        }
        return matchEnd
    }

    private static func hasCardIssuerPrefix(_ digits: [Int]) -> Bool {
        guard digits.count >= 13 else { return false }
        let firstFourDigits = digits.prefix(4).reduce(0) { $0 * 10 + $1 }
        switch firstFourDigits {
        case 4000...4999: return [13, 16, 19].contains(digits.count)
        case 5100...5599, 2221...2720: return digits.count == 16
        case 3400...3499, 3700...3799: return digits.count == 15
        case 3528...3589, 6011, 6440...6599: return digits.count == 16
        case 3000...3059, 3600...3699, 3800...3899: return digits.count == 14
        case 6200...6299: return (16...19).contains(digits.count)
        default: return false
        }
    }

    /// Whether the digits have a valid Luhn check digit.
    private static func hasCheckDigit(_ digits: [Int]) -> Bool {
        let sum = digits.reversed().enumerated().reduce(0) { sum, digit in
            let doubled = digit.element * (digit.offset % 2 == 1 ? 2 : 1)
            return sum + (doubled > 9 ? doubled - 9 : doubled)
        }
        return sum % 10 == 0
    }
}
