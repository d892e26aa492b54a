import { Client, type ClientConfig } from "pg"

type Connected = (error?: Error) => void

/**
 * Refuses a standby, to which the address of the database may lead for a moment after a failover. Its data may be
 * old: a revoked key would still be valid there. PostgreSQL names its kind when a connection starts; `pg` has no
 * `target_session_attrs`.
 */
export class PrimaryClient extends Client {
  #isStandby = false

  constructor(config?: ClientConfig) {
    super(config)
    this.connection.on("parameterStatus", ({ parameterName, parameterValue }) => {
      if (parameterName === "in_hot_standby") this.#isStandby = parameterValue === "on"
    })
  }

  override connect(): Promise<Client>
  override connect(callback: Connected): void
  override connect(callback?: Connected): Promise<Client> | undefined {
    if (!callback) {
      return new Promise((done, failed) => this.connect((error) => (error ? failed(error) : done(this))))
    }
    super.connect((error: Error | null) => callback(error ?? this.#refusal()))
    return undefined
  }

  #refusal(): Error | undefined {
    if (!this.#isStandby) return undefined
    void this.end()
    // The SQLSTATE of a write on a standby.
    return Object.assign(new Error("The database is a standby."), { code: "25006" })
  }
}
