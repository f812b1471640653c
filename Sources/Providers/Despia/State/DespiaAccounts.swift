internal import Values

/// The data of the accounts on the simulated phones, which all phones of an account share.
///
/// A vault account has items in the cloud, and a store account has purchases.
struct DespiaAccounts: Hashable, Codable, Sendable {
    /// The vault items that are stored in the cloud, by vault account.
    private var cloud: SharedTable<String, [String: DespiaDevice.VaultItem]> = [:]
    /// The purchases of each store account, newest first, in the format of section 4 of the Despia
    /// fact sheet.
    private var history: SharedTable<String, [JSONObject]> = [:]

    /// Erases the data of the accounts of a device.
    mutating func erase(_ device: DespiaDevice) {
        cloud[device.vaultAccount] = nil
        history[device.storeAccount] = nil
    }

    // MARK: The vault

    func cloudItems(of device: DespiaDevice) -> [String: DespiaDevice.VaultItem] {
        cloud[device.vaultAccount] ?? [:]
    }

    /// Copies the device's vault to the cloud.
    mutating func pushVault(of device: DespiaDevice) {
        cloud[device.vaultAccount, default: [:]].merge(device.vaultLocal) { $1 }
    }

    /// Sets an item in the cloud; nil removes it.
    mutating func setCloudItem(
        _ key: String,
        to item: DespiaDevice.VaultItem?,
        of device: DespiaDevice
    ) {
        cloud[device.vaultAccount, default: [:]][key] = item
    }

    // MARK: The store

    func history(of device: DespiaDevice) -> [JSONObject] { history[device.storeAccount] ?? [] }

    mutating func setHistory(_ entries: [JSONObject], of device: DespiaDevice) {
        history[device.storeAccount] = entries
    }

    /// Adds a purchase as the newest one.
    mutating func addPurchase(_ entry: JSONObject, of device: DespiaDevice) {
        history[device.storeAccount, default: []].insert(entry, at: 0)
    }

    /// Updates the purchases of a device with their current state in the store model.
    mutating func refreshHistory(
        of device: DespiaDevice,
        _ findPurchase: (String) -> Purchase?,
        isActive: (Purchase) -> Bool
    ) {
        guard let known = history[device.storeAccount] else { return }
        history[device.storeAccount] = known.map { entry in
            guard let id = entry["originalTransactionId"]?.string, let purchase = findPurchase(id)
            else {
                return entry
            }
            var entry = entry
            entry["transactionId"] = .string(purchase.transactionID)
            entry["purchaseDate"] = .string(purchase.purchased.description)
            entry["expirationDate"] =
                purchase.expires.map { .string($0.description) } ?? .null
            entry["isActive"] = .bool(isActive(purchase))
            entry["willRenew"] = .bool(purchase.willRenew)
            return entry
        }
    }
}
