FORMS = []
