"use client"

import { controlStyle } from "@/components/form/field"
import { SelectField, TextAreaField, TextField } from "@/components/form/fields"
import { spendPeriods } from "@/lib/keys/choices"
import type { KeyLimits } from "@/lib/keys/data"

export type LimitRules = {
  hasSpending: boolean
  /** Requests per minute. */
  perMinute: number
}

export type Limits = Pick<KeyLimits, "addresses" | "requestsPerMinute" | "spending">

export function LimitFields({ rules: { hasSpending, perMinute }, given }: { rules: LimitRules; given?: Limits }) {
  return (
    <>
      {hasSpending && (
        <div className="grid grid-cols-[minmax(0,1fr)_8rem] items-start gap-3">
          <TextField
            label="Spending limit"
            hint="In credits. Leave empty for no limit."
            name="spendLimit"
            inputMode="numeric"
            autoComplete="off"
            defaultValue={given?.spending?.limit}
          />
          <SelectField
            label="Period"
            name="spendPeriod"
            options={spendPeriods}
            defaultValue={given?.spending?.period ?? "month"}
          />
        </div>
      )}
      <TextField
        label="Requests per minute"
        hint={`At most ${perMinute}. Leave empty for ${perMinute}.`}
        name="requestsPerMinute"
        inputMode="numeric"
        autoComplete="off"
        defaultValue={given?.requestsPerMinute ?? undefined}
      />
      <TextAreaField
        label="Allowed IP addresses"
        hint={
          <>
            One IP address or network per line, such as <Code>203.0.113.7</Code>, <Code>203.0.113.0/24</Code> or{" "}
            <Code>2001:db8::/32</Code>. An IPv6 address matches only itself. Leave empty to allow all addresses.
          </>
        }
        name="addresses"
        rows={3}
        autoComplete="off"
        spellCheck={false}
        defaultValue={given?.addresses?.join("\n")}
        className={`${controlStyle} min-h-20 py-1.5 font-mono`}
      />
    </>
  )
}

function Code({ children }: { children: string }) {
  return <code className="font-mono whitespace-nowrap">{children}</code>
}
