extension ScreenText {
    public static let spanish = ScreenText(
        languageTag: "es",
        readsRightToLeft: false,
        startingTitle: "Arrancando",
        startingDetail: "Un momento, por favor.",
        checkingPayments: { count in
            count == 1 ? "Comprobando 1 pago anterior." : "Comprobando \(count) pagos anteriores."
        },
        welcome: "Bienvenido",
        staffPage: "Página del personal",
        wayNames: { way in
            switch way {
            case .scan: "Escanear"
            case .tap: "Acercar"
            case .connect: "Conectar"
            }
        },
        readiness: { readiness in
            switch readiness {
            case .ready: "listo"
            case .connecting: "conectando"
            case .unavailable: "no disponible"
            }
        },
        notices: { kind in
            switch kind {
            case .late: "Personal: un pago llegó con retraso"
            case .paidTwice: "Personal: pagado dos veces, devuelva uno"
            }
        },
        moreNotices: { count in "y \(count) más" },
        setupTitles: { purpose in
            switch purpose {
            case .claim: "Configurar este terminal"
            case .reset: "Nueva contraseña del propietario"
            }
        },
        setupScan: "Escanee el código o abra",
        setupCodes: { purpose in
            switch purpose {
            case .claim: "Código de activación"
            case .reset: "Código para restablecer, solo para el propietario"
            }
        },
        setupFingerprint: "El navegador avisa. Siga solo si la huella del certificado empieza por",
        setupTitle: "En preparación",
        setupProgress: { progress in "Paso \(progress.step) de \(progress.count)" },
        wayInstructions: { way in
            switch way {
            case .scan: "Escanee con su monedero"
            case .tap: "Acerque su teléfono"
            case .connect: "Conecte cualquier monedero"
            }
        },
        appNames: { way in
            switch way {
            case .scan, .connect: "Monedero"
            case .tap: "Aplicación de pago"
            }
        },
        appSteps: { way in
            switch way {
            case .scan, .connect: "Escanee para pagar"
            case .tap: "Escanee y acerque su teléfono"
            }
        },
        tagInstruction: "Escanee con su aplicación de pago y acerque su teléfono",
        compareDigits: { phones in
            phones == 1
                ? "¿Su teléfono muestra lo mismo?"
                : "\(phones) teléfonos ven esto. ¿El suyo muestra uno de estos?"
        },
        formTitle: "Primero, sus datos",
        formWhatToDo: "Escanee con la cámara y rellene el formulario. Su teléfono continúa después por sí solo.",
        formSteps: { way in
            switch way {
            case .tap: "¿Paga con el teléfono? Escanee esto"
            case .scan, .connect: "¿Monedero conectado? Escanee esto"
            }
        },
        formComesBack: "¿Se necesitan sus datos? Su código vuelve en unos segundos.",
        codeComesBack: "¿Paga con otro monedero? Su código vuelve en unos segundos.",
        openPage: "Escanee con la cámara de su teléfono",
        timeLeft: "Tiempo restante",
        chargeCode: "Código",
        gatewaySilent: "Aún no se sabe: no hay respuesta por el momento. ¿Ya ha pagado? No vuelva a pagar.",
        walletAsks: { name in
            name.isEmpty ? "Apruebe el pago en su monedero." : "Apruebe el pago en \(name)."
        },
        walletDidNotPay: "Este monedero no ha pagado. Inténtelo de nuevo, con otro monedero o de otra forma.",
        formFirst: "Escanee y rellene el formulario. El pago continúa después por sí solo.",
        processingTitle: "Pago en curso",
        processingDetail: "Espere, por favor. No vuelva a pagar.",
        paidTitle: "Pagado",
        tip: "propina incl.",
        arrivedLate: "Llegó con retraso",
        confirmedBy: { authority in
            switch authority {
            case .gateway: "Confirmado por la pasarela"
            case .acquirer: "Confirmado por el adquirente"
            }
        },
        givenBackTitle: "Pagado y devuelto",
        givenBackDetail: "Se le ha devuelto el dinero.",
        refundRecordedDetail:
            "El comercio ha anotado una devolución. Si no ha recibido el dinero, pregunte al personal.",
        promisedTitle: "Aceptado sin conexión",
        promisedDetail: "Gracias. El dinero se registra cuando el terminal vuelve a tener conexión.",
        notPaidTitles: { kind in
            switch kind {
            case .failed: "No pagado"
            case .expired: "Tiempo agotado"
            case .cancelled: "Cancelado"
            case .refused: "Rechazado"
            }
        },
        notPaidWhatHappened: { kind in
            switch kind {
            case .failed: "El pago falló. No se movió dinero."
            case .expired: "No se pagó a tiempo. No se movió dinero."
            case .cancelled: "El cobro se canceló. No se movió dinero."
            case .refused: "El pago fue rechazado. No se movió dinero."
            }
        },
        notPaidWhatToDo: { kind in
            switch kind {
            case .failed: "Puede intentarlo de nuevo."
            case .expired: "Pida al personal que empiece de nuevo."
            case .cancelled: "Pida al personal que empiece de nuevo."
            case .refused: "Pruebe con otro monedero u otra forma de pago."
            }
        },
        unknownTitle: "Aún no se sabe",
        unknownWarning: "No vuelva a pagar.",
        unknownWhatToDo: "Pregunte al personal, por favor.",
        offlineTitle: "Sin conexión",
        offlineDetail: "No es posible pagar en este momento.",
        offlineWhatToDo: "El terminal lo sigue intentando por sí solo.",
        clockTitle: "El reloj no está en hora",
        clockDetail: { day in
            "El reloj del terminal indica \(day) y nadie lo ha puesto en hora: no se puede comprobar la pasarela. No es posible pagar y no se mueve dinero."
        },
        clockWhatToDo: "Personal: dé al terminal acceso a Internet. Se pone en hora por sí solo y continúa.",
        pausedTitle: "Espere, por favor",
        pausedDetail: { time in "El servicio de pago pide al terminal que espere hasta las \(time)." },
        pausedWhatToDo: "Después el terminal continúa por sí solo.",
        storageTitle: "No se pueden registrar pagos",
        storageDetails: { kind in
            switch kind {
            case .full: "El almacenamiento del terminal está lleno."
            case .readOnly: "El almacenamiento del terminal no admite escritura."
            case .damaged: "El registro de pagos del terminal está dañado."
            case .newer: "El registro de pagos es de una versión más nueva."
            case .inUse: "Otro programa tiene abierto el registro de pagos."
            case .failed: "El almacenamiento del terminal no funciona."
            }
        },
        storageWhatToDo: { kind in
            switch kind {
            case .full:
                "Pague de otra forma. Personal: libere espacio o pida ayuda. No se pierde nada de lo registrado."
            case .readOnly: "Pague de otra forma. Personal: apague y encienda. Si sigue así, cambie el almacenamiento."
            case .damaged: "Pague de otra forma. Personal: pida ayuda. No borre el registro."
            case .newer: "Pague de otra forma. Personal: actualice el programa del terminal."
            case .inUse: "Pague de otra forma. Personal: cierre el otro programa, o apague y encienda."
            case .failed: "Pague de otra forma. Personal: apague y encienda. Si sigue así, cambie el almacenamiento."
            }
        },
        messageIsNoPayment: "Mensaje del comercio. No es un pago.",
        messageAnswer: "Dígaselo al personal, por favor.",
        keypadTitles: { kind in
            switch kind {
            case .typing: "Nuevo importe"
            case .notAnAmount: "No es un importe"
            case .confirming: "¿Cobrar este importe?"
            case .cancel: "¿Cancelar este cobro?"
            case .release: "¿Seguir sin respuesta?"
            case .tooLate: "Ahora no se puede cancelar"
            case .notCharged: "No se cobró nada"
            case .erase: "¿Borrar todo?"
            case .cannotErase: "No se borró nada"
            case .notErased: "No se borró nada"
            case .erasing: "Borrando"
            }
        },
        keypadDetails: { kind in
            switch kind {
            case .typing, .confirming: ""
            case .notAnAmount: "Sobra una tecla, o un importe tiene decimales y otro no."
            case .cancel: "Si el cliente fue más rápido, el pago cuenta."
            case .release: "No se sabe aún si se pagó. El terminal sigue preguntando."
            case .tooLate: "El pago está en curso. Espere a que el terminal diga cómo terminó."
            case .notCharged: "La página del terminal dice el motivo."
            case .erase:
                "Pagos, ajustes, claves y propietario desaparecen para siempre. Para borrar, escriba este código:"
            case .cannotErase: "Una vez borrado, aquí nadie sabrá cómo terminaron."
            case .notErased: "La memoria del terminal no lo aceptó. Mire la página del terminal."
            case .erasing: "No lo apague. El terminal se reinicia solo."
            }
        },
        keypadKeys: { kind in
            switch kind {
            case .typing: "Intro: cobrar · +: sumar · −: borrar"
            case .notAnAmount: "Retroceso: deshacer · −: borrar"
            case .confirming: "Intro: cobrar · Num: volver"
            case .cancel: "Intro: cancelar el cobro · Num: volver"
            case .release: "Intro: seguir · Num: volver"
            case .tooLate, .notCharged, .cannotErase, .notErased: "Cualquier tecla: volver"
            case .erase: "Intro: borrar · Num: volver"
            case .erasing: ""
            }
        },
        keypadSum: { count in count == 1 ? "1 importe" : "\(count) importes" },
        keypadOpenPayments: { count in
            count == 1 ? "1 pago no tiene respuesta definitiva." : "\(count) pagos no tienen respuesta definitiva."
        },
        updateTitles: { kind in
            switch kind {
            case .installing: "Actualizando"
            case .restarting: "Actualizado: el terminal se reinicia"
            case .trying: "Actualizado: se prueba la versión nueva"
            case .updated: "El terminal se ha actualizado"
            case .notUpdated: "La actualización no funcionó"
            case .signature, .notWhole, .otherMachine, .nobodyMaySign, .notNewer, .notInstalled:
                "La actualización no se instaló"
            }
        },
        updateDetails: { kind in
            switch kind {
            case .installing: "No lo apague. El terminal se reinicia por sí solo."
            case .restarting: "No lo apague. Tarda uno o dos minutos."
            case .trying:
                "Se vuelve a cobrar en uno o dos minutos. Si no funciona, la versión anterior vuelve sola."
            case .updated: "Acepta pagos como antes."
            case .notUpdated:
                "Funciona de nuevo la versión anterior, que acepta pagos como antes. La página del terminal dice más."
            case .signature:
                "Nadie que este terminal conozca la ha firmado, o se cambió después. Los pagos siguen como antes. Tómela de nuevo de donde viene el terminal."
            case .notWhole:
                "No es una actualización, o solo una parte. Los pagos siguen como antes. Descárguela de nuevo."
            case .otherMachine:
                "Es para otro tipo de equipo. Los pagos siguen como antes. Tome la de este terminal."
            case .nobodyMaySign:
                "Este terminal se hizo sin nadie que pueda firmar, y no acepta ninguna. Los pagos siguen como antes. Pregunte a quien hizo su imagen."
            case .notNewer:
                "No es más nueva que lo que ya funcionó aquí, y no se instala nada más antiguo. Los pagos siguen como antes. Tome una más nueva."
            case .notInstalled:
                "No se pudo escribir. La versión que funciona se queda, y los pagos siguen como antes. Inténtelo de nuevo."
            }
        },
        backupTitles: { kind in
            switch kind {
            case .writing: "Escribiendo la copia en la memoria USB"
            case .written: "La copia está en la memoria USB"
            case .notWritten: "La copia no está en la memoria USB"
            case .reading: "Leyendo la copia de la memoria USB"
            case .whole: "La copia de la memoria USB está completa"
            case .notUsable: "La copia de la memoria USB no se puede usar"
            case .restoring: "Restaurando la copia"
            case .restored: "La copia se ha restaurado"
            case .notRestored: "La copia no se ha restaurado"
            }
        },
        backupDetails: { kind in
            switch kind {
            case .writing: "No saque la memoria. Los pagos continúan mientras tanto."
            case .written: "Ya puede sacarla."
            case .notWritten: "No queda nada a medias con nombre de copia. La página del terminal dice por qué."
            case .reading: "No saque la memoria. Esto no cambia nada."
            case .whole: "No se ha cambiado nada. Se restaura desde la página del terminal."
            case .notUsable: "No se ha cambiado nada. La página del terminal dice por qué."
            case .restoring: "No lo apague. El terminal se reinicia por sí solo."
            case .restored: "Borre el terminal antiguo antes de volver a encenderlo."
            case .notRestored: "Todo está como estaba. El registro de auditoría dice por qué."
            }
        },
        onboardingTitles: { kind in
            switch kind {
            case .asking: "Un teléfono quiere conectar este terminal al wifi"
            case .allowed: "Elija el wifi en el teléfono"
            case .joining: "El terminal se conecta al wifi"
            case .notJoined: "El terminal no pudo entrar en el wifi"
            case .joined: "El terminal está en el wifi"
            }
        },
        onboardingDetails: { kind in
            switch kind {
            case .asking: "Permítalo solo si el teléfono es suyo."
            case .allowed: "Escriba allí su contraseña."
            case .joining: "Un momento, por favor."
            case .notJoined: "Compruebe el wifi y su contraseña, e inténtelo de nuevo en el teléfono."
            case .joined: "El teléfono lleva a la página del terminal."
            }
        },
        onboardingKeys: { kind in
            switch kind {
            case .asking: "Intro: permitir · Num: no"
            case .allowed, .notJoined: "Num: parar"
            case .joining, .joined: ""
            }
        },
        ownerResetTitle: "Alguien pide una nueva contraseña del propietario",
        ownerResetMinutes: { count in
            count == 1 ? "En 1 minuto aparecerá aquí un código." : "En \(count) minutos aparecerá aquí un código."
        },
        ownerResetDetail: "¿No sabe quién es? Saque la memoria USB y avise al propietario.",
        codeNotShownTitle: "Este código no se puede mostrar",
        codeNotShownWhatToDo: "Pregunte al personal. No escanee esta pantalla.",
        openThisLink: "Abra este enlace"
    )
}
