import { createContext, useContext } from "react"
import type { FormErrors, FormResult, FormValues } from "@/lib/form/action"

export type Refusal = Extract<FormResult, { ok: false }>

type FormState = {
  id: string
  pending: boolean
  errors: FormErrors
  values: FormValues
  show: (refusal: Refusal) => void
}

export const FormContext = createContext<FormState>({ id: "", pending: false, errors: {}, values: {}, show: () => {} })

export function useFormState(): FormState {
  return useContext(FormContext)
}
